"""Patches of ministack's IAM, which report its decision on each call of a role.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from headway_sandbox.call_recorder import Call, Decision
from headway_sandbox.emulator.patches import module

# The evaluation of the caller's own policies during a decision: its context, and the policies.
_evaluated: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("headway_evaluated", default=None)


def prepare(report: Callable[[Call], None]) -> None:
    """Apply the patches. Called once, after `patches.prepare`.

    Args:
        report: Called with each decision on a call of an assumed role, which is how functions call.
    """
    _report_decisions(report)
    _set_leading_keys()
    _set_restored_table()
    _set_secure_transport()
    _know_account_settings()


def _report_decisions(report: Callable[[Call], None]) -> None:
    """Report decisions. ministack decides once per required permission: for a transaction once per item."""
    evaluator, roles = module("core.iam_evaluator"), module("services.iam")._roles
    evaluate, enforce = evaluator.evaluate, evaluator.enforce

    def evaluating(context: Any, policies: Any, *limits: Any) -> Any:
        evaluated = _evaluated.get()
        # The caller's own policies come first, then the resource's.
        if evaluated is not None and not evaluated:
            evaluated.append((context, policies))
        return evaluate(context, policies, *limits)

    def enforcing(*request: Any, **named: Any) -> Any:
        evaluated: list[tuple[Any, Any]] = []
        token = _evaluated.set(evaluated)
        try:
            denied = enforce(*request, **named)
        finally:
            _evaluated.reset(token)
        if evaluated and evaluated[0][0].principal_type == "AssumedRole":
            call = _call(evaluator, *evaluated[0], denied)
            # A function that still runs when its stack is deleted has lost its role: no fault of the policies.
            if call.role in roles:
                report(call)
        return denied

    evaluator.evaluate, evaluator.enforce = evaluating, enforcing


def _set_secure_transport() -> None:
    """Set the condition key aws:SecureTransport of all calls. The sandbox itself uses HTTP, on loopback only."""
    app = module("app")
    original = app.pin_request_origin
    app.pin_request_origin = lambda address, _secure: original(address, True)  # noqa: FBT003  its signature


def _know_account_settings() -> None:
    """Decide on lambda:GetAccountSettings, which ministack has no action for.

    Source: Service Authorization Reference for Lambda.
    """
    actions = module("core.iam_actions")
    original = actions._lambda_action

    def action(method: str, path: str) -> str | None:
        if method == "GET" and path.rstrip("/").endswith("/account-settings"):
            return "GetAccountSettings"
        named: str | None = original(method, path)
        return named

    actions._lambda_action = action


def _set_leading_keys() -> None:
    """Set dynamodb:LeadingKeys, a request's partition; ministack does not set it and so allows any partition.

    Only for requests on one item, not for queries. Source: DynamoDB developer guide, "Using IAM policy conditions for
    fine-grained access control".
    """
    actions, tables = module("core.iam_actions"), module("services.dynamodb")._tables
    original = actions.dynamodb_service_context

    def context(body: bytes) -> dict[str, Any]:
        found: dict[str, Any] = original(body)
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            return found  # the service refuses it
        match request:
            case {"TableName": str(name), "Key": dict(key)} | {"TableName": str(name), "Item": dict(key)}:
                table = tables.get(name.rpartition("/")[2])
                value = key.get(table["pk_name"]) if table else None
                if isinstance(value, dict):
                    found["dynamodb:LeadingKeys"] = list(value.values())
            case _:
                pass
        return found

    actions.dynamodb_service_context = context


def _set_restored_table() -> None:
    """Decide on a restore of a table by the table that is restored; ministack decides on it as on all tables.

    Source: service authorization reference of DynamoDB, RestoreTableToPointInTime has the resource type `table`.
    """
    actions = module("core.iam_actions")
    original = actions.dynamodb_resource_arns

    def arns(body: bytes, region: str, account_id: str) -> list[str]:
        found: list[str] = original(body, region, account_id)
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            return found  # the service refuses it
        match request:
            case {"SourceTableName": str(name)}:
                return [actions._dynamodb_table_arn(name, region, account_id)]
            case _:
                return found

    actions.dynamodb_resource_arns = arns


def _call(evaluator: Any, context: Any, policies: Any, denied: Any) -> Call:
    role = context.principal_arn.split("/")[-2]
    action, resource = context.action, context.resource_arn
    if denied is not None:
        decision = Decision.FORBIDDEN if denied.decision == "Deny" else Decision.REFUSED
        return Call(role=role, action=action, decision=decision, resource=resource)
    statement = evaluator._first_match(context, [each for policy in policies for each in policy], "Allow")
    if statement is None:  # the resource's own policy allows it
        return Call(role=role, action=action, decision=Decision.ALLOWED, resource=resource)
    matches = (number for number, each in enumerate(statement.resources) if evaluator.fnmatch_iam_cs(resource, each))
    position = next(matches, 0)
    return Call(
        role=role,
        action=action,
        decision=Decision.ALLOWED,
        sid=statement.sid,
        position=position,
        granted=statement.resources[position] if statement.resources else "",
        resource=resource,
    )
