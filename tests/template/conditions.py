"""The template resolved for a set of parameters, with its conditions applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = {"Ref": "AWS::NoValue"}


def holding(template: Mapping[str, Any], given: Mapping[str, str]) -> frozenset[str]:
    """Return the conditions that are true for these parameters and the defaults of the others."""
    values = {"AWS::Partition": "aws", **given}
    values |= {name: str(given.get(name, p.get("Default", ""))) for name, p in template["Parameters"].items()}

    def value(part: Any) -> Any:
        match part:
            case {"Ref": name}:
                return values[name]
            case {"Condition": name}:
                return value(template["Conditions"][name])
            case {"Fn::Join": [between, list_of_strings]}:
                return between.join(value(list_of_strings).split(","))
            case {"Fn::Equals": [one, other]}:
                return str(value(one)) == str(value(other))
            case {"Fn::Not": [one]}:
                return not value(one)
            case {"Fn::And": several}:
                return all(value(each) for each in several)
            case {"Fn::Or": several}:
                return any(value(each) for each in several)
            case str() | int():
                return part
            case _:
                # A condition that is read wrongly would make tests of the template pass by chance.
                raise NotImplementedError(f"this is no condition that is understood here: {part}")

    return frozenset(name for name, condition in template.get("Conditions", {}).items() if value(condition))


def resolved(part: Any, *holds: str) -> Any:
    """Replace each `Fn::If` by its value, where exactly the conditions in `holds` are true."""
    match part:
        case {"Fn::If": [condition, yes, no]}:
            return resolved(yes if condition in holds else no, *holds)
        case {"Ref": _}:
            return part
        case dict():
            found = {key: resolved(value, *holds) for key, value in part.items()}
            return {key: value for key, value in found.items() if value != NOTHING}
        case list():
            return [value for value in (resolved(each, *holds) for each in part) if value != NOTHING]
        case _:
            return part


def deployed(template: Mapping[str, Any], **given: str) -> dict[str, Any]:
    """Return the template with the resources that these parameters create, without conditions."""
    holds = holding(template, given)
    resources = {
        name: resolved({key: value for key, value in resource.items() if key != "Condition"}, *holds)
        for name, resource in template["Resources"].items()
        if resource.get("Condition") is None or resource["Condition"] in holds
    }
    return {**template, "Resources": resources}
