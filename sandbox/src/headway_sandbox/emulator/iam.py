"""With `emulator` a place that touches ministack: its IAM, which tells here what it decides on each call of a role.

Written against the ministack that `emulator` asks for.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from headway_sandbox.call_recorder import Call, Decision
from headway_sandbox.emulator.patches import module

# What the caller's own policies were asked, and these policies; while a request is being decided on.
_asked: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("headway_asked", default=None)


def prepare(tell: Callable[[Call], None]) -> None:
    """Have `tell` told of each decision on a call of an assumed role, which is how functions call; and fill gaps.

    Called once, after `emulator.prepare`.
    """
    _tell_decisions(tell)
    _know_leading_keys()
    _come_over_tls()


def _tell_decisions(tell: Callable[[Call], None]) -> None:
    """The emulator asks once for each permission that a request needs: for a transaction once for each of its items."""
    evaluator = module("core.iam_evaluator")
    evaluate, enforce = evaluator.evaluate, evaluator.enforce

    def evaluating(context: Any, policies: Any, *limits: Any) -> Any:
        asked = _asked.get()
        # The caller's own policies come first, then the resource's.
        if asked is not None and not asked:
            asked.append((context, policies))
        return evaluate(context, policies, *limits)

    def enforcing(*request: Any, **named: Any) -> Any:
        asked: list[tuple[Any, Any]] = []
        token = _asked.set(asked)
        try:
            denied = enforce(*request, **named)
        finally:
            _asked.reset(token)
        if asked and asked[0][0].principal_type == "AssumedRole":
            tell(_call(evaluator, *asked[0], denied))
        return denied

    evaluator.evaluate, evaluator.enforce = evaluating, enforcing


def _come_over_tls() -> None:
    """Give calls the key aws:SecureTransport as on AWS. The sandbox itself speaks HTTP, on this machine only."""
    app = module("app")
    original = app.pin_request_origin
    app.pin_request_origin = lambda address, _secure: original(address, True)  # noqa: FBT003  its signature


def _know_leading_keys() -> None:
    """Which partition a request is for, as dynamodb:LeadingKeys: ministack leaves it out, so any partition would do.

    For requests on one item, not for queries. Source: DynamoDB developer guide, "Using IAM policy conditions for
    fine-grained access control".
    """
    actions, tables = module("core.iam_actions"), module("services.dynamodb")._tables
    original = actions.dynamodb_service_context

    def context(body: bytes) -> dict[str, Any]:
        found: dict[str, Any] = original(body)
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            return found  # the service will say so
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
