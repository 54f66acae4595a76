"""The grants of the template: one for each action on each resource of each statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

NO_VALUE = {"Ref": "AWS::NoValue"}
MANAGED = "a managed policy"


class Grant(NamedTuple):
    """An action on a resource that a function's role is allowed."""

    role: str
    """The logical id of the role."""
    sid: str
    action: str
    position: int
    """The index of the resource in the statement."""
    resource: str
    """The resource as written in the template."""
    condition: str = ""
    """The condition of the template that it depends on; empty if it is always granted."""


def granted(template: Mapping[str, Any]) -> list[Grant]:
    """Return the grants of all function roles in an expanded template."""
    resources = template["Resources"]
    functions = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::Lambda::Function"]
    roles = sorted({function["Role"]["Fn::GetAtt"][0] for function in functions})
    return [grant for role in roles for grant in _of_role(role, resources[role]["Properties"])]


def _of_role(role: str, properties: Mapping[str, Any]) -> Iterator[Grant]:
    for arn, condition in _choices(properties.get("ManagedPolicyArns", [])):
        yield Grant(role, MANAGED, "*", 0, written(arn), condition)
    for policy in properties.get("Policies", []):
        for statement, condition in _choices(policy["PolicyDocument"]["Statement"]):
            if statement["Effect"] != "Allow":
                continue
            for action in _listed(statement["Action"]):
                for position, resource in enumerate(_listed(statement["Resource"])):
                    yield Grant(role, statement.get("Sid", ""), action, position, written(resource), condition)


def _choices(entries: Iterable[Any], condition: str = "") -> Iterator[tuple[Any, str]]:
    """Yield the entries of a list, including both branches of an `Fn::If`, with their conditions."""
    for entry in entries:
        if isinstance(entry, dict) and "Fn::If" in entry:
            name, *branches = entry["Fn::If"]
            yield from _choices([each for branch in branches for each in _listed(branch) if each != NO_VALUE], name)
        else:
            yield entry, condition


def _listed(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def written(resource: Any) -> str:
    """Return the short form of a resource."""
    match resource:
        case {"Ref": name}:
            return str(name)
        case {"Fn::GetAtt": [name, "Arn"]}:
            return str(name)
        case {"Fn::GetAtt": [name, attribute]}:
            return f"{name}.{attribute}"
        case {"Fn::Sub": str(text)}:
            return text.replace("arn:${AWS::Partition}:", "").replace(":${AWS::Region}:${AWS::AccountId}:", ":")
        case {"Fn::If": [_, one, other]}:
            return " or ".join(written(each) for each in (one, other) if each != NO_VALUE)
        case _:
            return str(resource)
