"""The configuration document: bad ones are refused and say why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.policy import Ageing, Policy, Team
from headway_service.configuration import parse, text_of, validate
from headway_service.errors import InvalidConfiguration
from tests.service.world import P5

GOOD: dict[str, Any] = {"pools": {"ml.p5.48xlarge": {"size": 2}}}


def test_a_good_document_round_trips() -> None:
    configuration = parse(json.dumps(GOOD))
    assert configuration.pools["ml.p5.48xlarge"].size == 2
    assert (configuration.priority.default, configuration.priority.maximum) == (0, 9999)
    assert parse(text_of(configuration)) == configuration


def test_a_document_that_says_nothing_of_the_rules_gets_the_default_policy() -> None:
    assert validate(GOOD).policy() == Policy()


def test_every_rule_of_the_document_reaches_the_policy() -> None:
    rules = {
        "preemption": {
            "enabled": False,
            "minRunTimeSeconds": 60,
            "maxPerJob": 3,
            "checkpointIntervalSeconds": 30,
            "optOut": True,
        },
        "priority": {"limitWeight": 10},
        "backfill": {"enabled": False, "reservedHeads": 2, "window": 5},
        "ageing": {"intervalSeconds": 60, "cap": 7},
        "teams": {"a": {"guaranteed": {P5: 1}, "limit": {P5: 2}, "weight": 2, "maxPriority": 9}, "b": {}},
        "overheadSeconds": 10,
    }
    configuration = validate({**GOOD, **rules})
    assert configuration.policy() == Policy(
        limit_weight=10,
        preemption=False,
        min_run_time_ms=60_000,
        max_preemptions=3,
        checkpoint_interval_ms=30_000,
        backfill=False,
        reserved_heads=2,
        backfill_window=5,
        ageing=Ageing(interval_ms=60_000, cap=7),
        teams={"a": Team(guaranteed={P5: 1}, limit={P5: 2}, weight=2, max_priority=9), "b": Team()},
    )
    assert parse(text_of(configuration)) == configuration


def test_a_document_is_kept_without_what_nobody_said() -> None:
    assert json.loads(text_of(validate(GOOD))) == GOOD


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
    ("a team with a space", {**GOOD, "teams": {"a b": {}}}, "teams.a b", "match pattern"),
    ("a team without a name", {**GOOD, "teams": {"": {}}}, "teams.", "match pattern"),
    ("21 teams", {**GOOD, "teams": {f"t{i}": {} for i in range(21)}}, "teams", "at most 20"),
    ("a weight of 0", {**GOOD, "teams": {"a": {"weight": 0}}}, "teams.a.weight", "greater than 0"),
    ("an infinite weight", {**GOOD, "teams": {"a": {"weight": float("inf")}}}, "teams.a.weight", "finite"),
    (
        "a guarantee in an unknown pool",
        {**GOOD, "teams": {"a": {"guaranteed": {"ml.x.y": 1}}}},
        "teams.a.guaranteed.ml.x.y",
        "there is no pool ml.x.y",
    ),
    (
        "a limit in an unknown pool",
        {**GOOD, "teams": {"a": {"limit": {"ml.x.y": 1}}}},
        "teams.a.limit.ml.x.y",
        "no pool",
    ),
    ("a negative limit", {**GOOD, "teams": {"a": {"limit": {P5: -1}}}}, f"teams.a.limit.{P5}", "greater than or equal"),
    (
        "a guarantee above the limit",
        {**GOOD, "teams": {"a": {"guaranteed": {P5: 2}, "limit": {P5: 1}}}},
        f"teams.a.guaranteed.{P5}",
        "2 must not be above the team's limit of 1",
    ),
    (
        "guarantees beyond the pool",
        {**GOOD, "teams": {"a": {"guaranteed": {P5: 2}}, "b": {"guaranteed": {P5: 1}}}},
        f"pools.{P5}.size",
        "2 is less than the 3 that teams are guaranteed (a 2, b 1)",
    ),
    (
        "too many lines",
        {"pools": {f"ml.a{i}.x": {"size": 1} for i in range(50)}, "teams": {f"t{i}": {} for i in range(4)}},
        "teams",
        "make 250 lines",
    ),
    (
        "a team's maximum too high",
        {**GOOD, "teams": {"a": {"maxPriority": 10_000}}},
        "teams.a.maxPriority",
        "less than",
    ),
    ("a field of Python's", {**GOOD, "teams": {"a": {"max_priority": 1}}}, "teams.a.max_priority", "not permitted"),
    ("a window too large", {**GOOD, "backfill": {"window": 10_001}}, "backfill.window", "less than"),
    ("no reserved head", {**GOOD, "backfill": {"reservedHeads": 0}}, "backfill.reservedHeads", "greater than"),
    (
        "a negative run time",
        {**GOOD, "preemption": {"minRunTimeSeconds": -1}},
        "preemption.minRunTimeSeconds",
        "greater",
    ),
    ("ageing without a cap", {**GOOD, "ageing": {"intervalSeconds": 60}}, "ageing.cap", "required"),
    ("ageing without time", {**GOOD, "ageing": {"intervalSeconds": 0, "cap": 1}}, "ageing.intervalSeconds", "greater"),
    ("a negative overhead", {**GOOD, "overheadSeconds": -1}, "overheadSeconds", "greater than or equal"),
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
