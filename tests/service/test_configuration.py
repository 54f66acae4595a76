"""The configuration document: bad ones are refused and say why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_service.configuration import parse, text_of, validate
from headway_service.errors import InvalidConfiguration

GOOD: dict[str, Any] = {"pools": {"ml.p5.48xlarge": {"size": 2}}}


def test_a_good_document_round_trips() -> None:
    configuration = parse(json.dumps(GOOD))
    assert configuration.pools["ml.p5.48xlarge"].size == 2
    assert (configuration.priority.default, configuration.priority.maximum) == (0, 9999)
    assert parse(text_of(configuration)) == configuration


BAD: list[tuple[str, Any, str, str]] = [
    ("no pools", {}, "pools", "required"),
    ("an empty map of pools", {"pools": {}}, "pools", "at least 1"),
    (
        "a negative size",
        {"pools": {"ml.p5.48xlarge": {"size": -1}}},
        "pools.ml.p5.48xlarge.size",
        "greater than or equal",
    ),
    ("a size in words", {"pools": {"ml.p5.48xlarge": {"size": "2"}}}, "pools.ml.p5.48xlarge.size", "integer"),
    ("a size of true", {"pools": {"ml.p5.48xlarge": {"size": True}}}, "pools.ml.p5.48xlarge.size", "integer"),
    ("a size beyond reason", {"pools": {"ml.p5.48xlarge": {"size": 10_001}}}, "pools.ml.p5.48xlarge.size", "less than"),
    ("a pool that is no instance type", {"pools": {"p5": {"size": 1}}}, "pools.p5", "match pattern"),
    ("an unknown key", {**GOOD, "pool": {}}, "pool", "not permitted"),
    (
        "an unknown key of a pool",
        {"pools": {"ml.p5.48xlarge": {"size": 1, "max": 2}}},
        "pools.ml.p5.48xlarge.max",
        "not",
    ),
    (
        "a default above the maximum",
        {**GOOD, "priority": {"default": 5, "maximum": 4}},
        "priority",
        "must not be above",
    ),
    ("51 pools", {"pools": {f"ml.a{i}.x": {"size": 1} for i in range(51)}}, "pools", "at most 50"),
    ("a list", [], "(the document)", "valid dictionary"),
]


@pytest.mark.parametrize(("document", "field", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_document_is_refused_with_the_field_and_the_reason(document: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        validate(document)
    told = {error.field: error.message for error in raised.value.fields}
    assert message in told[field]


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is no JSON"), (" " * 5000, "at most 4096")], ids=["no JSON", "too long"]
)
def test_a_text_that_cannot_be_a_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        parse(text)
