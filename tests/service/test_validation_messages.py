"""What pydantic refuses is answered with what to change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway_service.api.nouns import NOUNS, router_of
from headway_service.config.document import Configuration, validate
from headway_service.errors import InvalidConfiguration
from headway_service.validation_messages import PATTERNS

ROOT = Path(__file__).resolve().parents[2]
P5 = "ml.p5.48xlarge"
POOLS = {P5: {"size": 2}}


@pytest.mark.parametrize(
    ("document", "field", "message"),
    [
        ([], "(the document)", "must be an object"),
        ({}, "pools", "is required: add it"),
        ({"pools": {}}, "pools", "must have at least 1 entry"),
        (
            {"pools": {"p5": {"size": 2}}},
            "pools.p5",
            (
                "must be an instance type, such as ml.p5.48xlarge; the type and .spot for spot instances; the type, "
                ".plan. and the name of a training plan; or serverless"
            ),
        ),
        ({"pools": {P5: {"size": "2"}}}, f"pools.{P5}.size", "must be a whole number"),
        ({"pools": {P5: {"size": -1}}}, f"pools.{P5}.size", "must be at least 0"),
        ({"pools": {P5: {"size": 10**9}}}, f"pools.{P5}.size", "must be at most 10000"),
        ({"pools": POOLS, "teams": {"a": {"weight": 0}}}, "teams.a.weight", "must be more than 0"),
        ({"pools": POOLS, "nope": 1}, "nope", "is not known here: remove it, or check its spelling"),
        (
            {"pools": POOLS, "teams": {"a b": {}}},
            "teams.a b",
            "must be a name of up to 63 letters, digits and . _ -, the first a letter or a digit",
        ),
        ({"pools": POOLS, "preemption": {"enabled": "no"}}, "preemption.enabled", "must be true or false"),
        ({"pools": POOLS, "access": {"admins": "ada"}}, "access.admins", "must be a list"),
    ],
)
def test_a_configuration_that_is_not_valid_is_answered_with_what_to_change(document: Any, field: str, message: str):
    with pytest.raises(InvalidConfiguration) as caught:
        validate(document)

    assert [(each.field, each.message) for each in caught.value.fields] == [(field, message)]


def test_each_pattern_of_the_configuration_and_of_the_api_is_explained():
    assert [router_of(noun) for noun in NOUNS]  # loaded: the patterns of the routes are registered
    api = json.loads((ROOT / "docs" / "openapi.json").read_text())

    found = {*_patterns(Configuration.model_json_schema()), *_patterns(api)}

    assert found
    assert found <= set(PATTERNS)
    assert all(PATTERNS.values())


def _patterns(schema: Any) -> Iterator[str]:
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "pattern" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _patterns(value)
