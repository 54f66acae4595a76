"""Differences between two configuration documents are listed by path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_service.config.differences import MAX_VALUE_CHARS, differences
from tests.service.world import P5

POOLS = {"pools": {P5: {"size": 2}}}
TEAM = {"guaranteed": {P5: 1}}
IDLE = {"metric": "GPUUtilization", "below": 5, "action": "report"}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (POOLS, {"pools": {P5: {"size": 3}}}, {f"pools.{P5}.size": "2 → 3"}),
        (POOLS, POOLS, {}),
        ({**POOLS, "version": 1}, {**POOLS, "version": 2}, {}),
        (POOLS, {**POOLS, "backfill": {"enabled": True}}, {}),
        (POOLS, {**POOLS, "backfill": {"enabled": False}}, {"backfill": 'not set → {"enabled":false}'}),
        ({**POOLS, "overheadSeconds": 5}, POOLS, {"overheadSeconds": "5 → not set"}),
        (POOLS, {**POOLS, "teams": {"a": TEAM}}, {"teams": 'not set → {"a":{"guaranteed":{"ml.p5.48xlarge":1}}}'}),
        ({**POOLS, "watches": {}}, {**POOLS, "watches": {"idle": None}}, {"watches": 'not set → {"idle":null}'}),
        (
            {**POOLS, "teams": {"a": {"members": ["user/x"]}}},
            {**POOLS, "teams": {"a": {"members": ["user/y"]}}},
            {"teams.a.members": '["user/x"] → ["user/y"]'},
        ),
        ({"pools": {"x": {"size": 1}}}, {"pools": {"x": {"size": 2}}}, {"pools.x.size": "1 → 2"}),
        ([1], POOLS, {"(the document)": '[1] → {"pools":{"ml.p5.48xlarge":{"size":2}}}'}),
    ],
)
def test_each_path_is_listed_with_its_old_and_new_value(before: Any, after: Any, told: dict[str, str]) -> None:
    found = {each.field: each.message for each in differences(json.dumps(before), json.dumps(after))}
    assert found == told


def test_a_text_that_is_not_json_is_shown_unchanged() -> None:
    assert [each.message for each in differences(json.dumps(POOLS), "{")] == [
        '{"pools":{"ml.p5.48xlarge":{"size":2}}} → "{"'
    ]


def test_a_long_value_is_cut() -> None:
    (change,) = differences(json.dumps(POOLS), json.dumps({**POOLS, "x" * 50: "y" * 500}))
    assert change.message == f'not set → "{"y" * (MAX_VALUE_CHARS - 2)}…'
