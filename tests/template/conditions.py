"""The template resolved for a set of parameters, with its conditions applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deploy.resolve import Place, Resolver

NOTHING = {"Ref": "AWS::NoValue"}
PLACE = Place(stack="headway", partition="aws", region="eu-central-1", account="123456789012")


def holding(template: Mapping[str, Any], given: Mapping[str, str]) -> frozenset[str]:
    """Return the conditions that are true for these parameters and the defaults of the others."""
    values = {name: str(given.get(name, p.get("Default", ""))) for name, p in template["Parameters"].items()}
    place = replace(PLACE, partition=given.get("AWS::Partition", PLACE.partition))
    return Resolver(template, values, place).holding


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
