"""CloudFormation's evaluation of a stack policy.

If a stack has a policy, updates that no statement allows are denied, and a Deny takes precedence over an Allow. Source:
CloudFormation user guide, "Prevent updates to stack resources".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any


def refusal(policy: str, *, action: str, logical_id: str, resource_type: str) -> str | None:
    """Return CloudFormation's error for an update that the policy denies; None if it is allowed.

    Args:
        policy: The document; empty for a stack without a policy.
        action: Such as ``Update:Replace``.
        logical_id: The resource's name in the template.
        resource_type: Such as ``AWS::DynamoDB::Table``.
    """
    if not policy:
        return None
    resource = f"LogicalResourceId/{logical_id}"
    allowed = False
    for number, statement in enumerate(_listed(json.loads(policy)["Statement"]), 1):
        if not _applies(statement, action=action, resource=resource, resource_type=resource_type):
            continue
        if statement["Effect"] == "Deny":
            return (
                f"Action denied by stack policy: Statement [#{number}] does not allow [{action}] "
                f"for resource [{resource}]"
            )
        allowed = True
    if allowed:
        return None
    return f"Action denied by stack policy: no statement allows [{action}] for resource [{resource}]"


def _applies(statement: Mapping[str, Any], *, action: str, resource: str, resource_type: str) -> bool:
    conditions = statement.get("Condition", {})
    types = [
        each for test in ("StringEquals", "StringLike") for each in conditions.get(test, {}).get("ResourceType", [])
    ]
    return (
        _matches(statement, "Action", action)
        and _matches(statement, "Resource", resource)
        and (not types or any(fnmatchcase(resource_type, each) for each in types))
    )


def _matches(statement: Mapping[str, Any], key: str, value: str) -> bool:
    if f"Not{key}" in statement:
        return not any(fnmatchcase(value, each) for each in _listed(statement[f"Not{key}"]))
    return any(fnmatchcase(value, each) for each in _listed(statement[key]))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
