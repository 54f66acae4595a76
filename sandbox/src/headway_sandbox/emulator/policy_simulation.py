"""SimulatePrincipalPolicy for roles: ministack answers it for the first resource only, and without the context.

Source: IAM API reference, SimulatePrincipalPolicy. Policies of resources and of an organization take no part. Condition
keys are missing that a statement about the action and the resource looks at, and that the request does not have.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from typing import Any
from xml.sax.saxutils import escape

from headway_sandbox.emulator.patches import module

_ACTION = "SimulatePrincipalPolicy"
_ROLE = ":role/"
_DECISIONS = {"Allow": "allowed", "Deny": "explicitDeny"}

# Known without a context.
_OF_THE_ROLE = {"aws:principalarn", "aws:principalaccount", "aws:principaltype", "aws:currenttime", "aws:epochtime"}


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    iam, actions = module("services.iam"), module("core.iam_actions")
    original, resource_of = iam._IAM_HANDLERS[_ACTION], actions.extract_resource_arn

    def simulate(parameters: Mapping[str, Any]) -> Any:
        return _simulate(parameters) if _ROLE in iam._p(parameters, "PolicySourceArn") else original(parameters)

    def resource_arn(service: str, method: str, path: str, headers: Any, body: Any, query: Any, *more: Any) -> Any:
        """Return the principal, which is the resource of the action; ministack returns `*`."""
        source = iam._p(query, "PolicySourceArn") if service == "iam" else ""
        return source or resource_of(service, method, path, headers, body, query, *more)

    iam._IAM_HANDLERS[_ACTION], actions.extract_resource_arn = simulate, resource_arn


def _simulate(parameters: Mapping[str, Any]) -> Any:
    iam, evaluator = module("services.iam"), module("core.iam_evaluator")
    role = iam._p(parameters, "PolicySourceArn")
    account, name = role.split(":")[4], role.rpartition("/")[2]
    if iam._roles.get_scoped(account, None, name) is None:
        return iam._error(404, "NoSuchEntity", f"The role with name {name} cannot be found.", ns="iam")
    policies = evaluator._gather_role_policies(name, account)
    limits = evaluator._permissions_boundary(iam._roles, name, account)
    context = {
        iam._p(parameters, f"{entry}.ContextKeyName").lower(): iam._p(parameters, f"{entry}.ContextKeyValues.member.1")
        for entry in _members(parameters, "ContextEntries", "ContextKeyName")
    }
    results = ""
    for action in (iam._p(parameters, each) for each in _members(parameters, "ActionNames")):
        for resource in (iam._p(parameters, each) for each in _members(parameters, "ResourceArns")):
            asked = evaluator.EvalContext(
                principal_arn=role,
                principal_type="AssumedRole",
                principal_account=account,
                action=action,
                resource_arn=resource,
                region="",
                source_ip="",
                secure_transport=context.get("aws:securetransport") == "true",
                service_context=context,
            )
            found = evaluator.evaluate(asked, policies, *limits)
            missing = _missing(evaluator, asked, [policies, *limits])
            within = [evaluator.evaluate(asked, limit).decision == "Allow" for limit in limits]
            decision = _DECISIONS.get(found.decision, "implicitDeny")
            results += _result(action, resource, decision, missing, within)
    inner = f"<EvaluationResults>{results}</EvaluationResults><IsTruncated>false</IsTruncated>"
    return iam._xml(200, f"{_ACTION}Response", f"<{_ACTION}Result>{inner}</{_ACTION}Result>", ns="iam")


def _members(parameters: Mapping[str, Any], of: str, inner: str = "") -> Iterator[str]:
    """Return the names of the members of a list of the request."""
    names = (f"{of}.member.{number}" for number in count(1))
    return takewhile(lambda name: f"{name}.{inner}".rstrip(".") in parameters, names)


def _missing(evaluator: Any, asked: Any, layers: Any) -> list[str]:
    statements = [each for layer in layers for statements in layer for each in statements]
    keys = {
        key.lower()
        for each in statements
        if evaluator._action_matches(asked.action, each.actions, each.not_actions)
        and evaluator._resource_matches(asked.resource_arn, each.resources, each.not_resources)
        for of_operator in each.conditions.values()
        for key in of_operator
    }
    return sorted(keys - asked.service_context.keys() - _OF_THE_ROLE)


def _result(action: str, resource: str, decision: str, missing: list[str], within: list[bool]) -> str:
    keys = "".join(f"<member>{escape(key)}</member>" for key in missing)
    allowed = str(all(within)).lower()
    boundary = (
        "<PermissionsBoundaryDecisionDetail><AllowedByPermissionsBoundary>"
        f"{allowed}</AllowedByPermissionsBoundary></PermissionsBoundaryDecisionDetail>"
        if within
        else ""
    )
    return (
        f"<member><EvalActionName>{escape(action)}</EvalActionName>"
        f"<EvalResourceName>{escape(resource)}</EvalResourceName><EvalDecision>{decision}</EvalDecision>"
        f"<MatchedStatements/><MissingContextValues>{keys}</MissingContextValues>{boundary}</member>"
    )
