"""A Query on the sandbox returns the same as ministack's scan of the whole partition."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway_sandbox.local.checkout import Checkout

Steps = list[tuple[str, dict[str, Any]]]
Play = Callable[[Steps], list[Any]]

_CHILD = Path(__file__).with_name("dynamodb_child.py")
_SOURCES = Path(__file__).parents[3] / "sandbox/src"

_partitions = st.sampled_from(["a", "b"])
_texts = st.text("xyzé", min_size=1, max_size=3)
_numbers = st.integers(-3, 12).map(str)


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    python = Checkout.here().sandbox_python()
    environment = {**os.environ, "PYTHONPATH": str(_SOURCES)}
    with subprocess.Popen(
        [str(python), str(_CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as child:

        def play(steps: Steps) -> list[Any]:
            assert child.stdin
            assert child.stdout
            child.stdin.write(json.dumps(steps) + "\n")
            child.stdin.flush()
            answers: list[Any] = json.loads(child.stdout.readline())
            return answers

        yield play
        assert child.stdin
        child.stdin.close()


@st.composite
def _writes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    key = {"p": {"S": draw(_partitions)}, "s": {"S": draw(_texts)}}
    step = draw(st.sampled_from(["put", "put", "put", "delete", "update"]))
    if step == "delete":
        return step, {"Key": key}
    number = {"N": draw(_numbers)}
    if step == "update":
        change = {"UpdateExpression": "SET n = :n, g = :g", "ExpressionAttributeValues": {":n": number, ":g": key["p"]}}
        return step, {"Key": key, **change}
    # Items without the index's key are not in the index.
    listed = draw(st.sampled_from([{}, {"g": {"S": draw(_partitions)}}, {"g": {"S": draw(_partitions)}, "n": number}]))
    return step, {"Item": {**key, **listed, "mark": {"S": draw(st.sampled_from("mn"))}}}


@st.composite
def _queries(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    index = draw(st.booleans())
    hash_name, name, kind, values = ("g", "n", "N", _numbers) if index else ("p", "s", "S", _texts)
    condition, given_values = f"{hash_name} = :p", {":p": {"S": draw(_partitions)}}
    clause = draw(
        st.sampled_from(
            ["", "{} = :v", "{} < :v", "{} <= :v", "{} > :v", "{} >= :v", "({} > :v)", "{} BETWEEN :v AND :w"]
            + ([] if index else ["begins_with({}, :v)"])
        )
    )
    if clause:
        named = draw(st.sampled_from([name, "#n"]))
        condition = f"{condition} AND {clause.format(named)}"
        given_values[":v"] = {kind: draw(values)}
        if ":w" in clause:
            given_values[":w"] = {kind: draw(values)}
    request: dict[str, Any] = {"KeyConditionExpression": condition, "ExpressionAttributeValues": given_values}
    if "#n" in condition:
        request["ExpressionAttributeNames"] = {"#n": name}
    if draw(st.booleans()):
        request["FilterExpression"] = "mark = :m"
        given_values[":m"] = {"S": "m"}
    if draw(st.booleans()):
        request["ScanIndexForward"] = draw(st.booleans())
    if draw(st.booleans()):
        request["Limit"] = draw(st.integers(0, 4))
    if draw(st.booleans()):
        start = {"p": {"S": draw(_partitions)}, "s": {"S": draw(_texts)}}
        request["ExclusiveStartKey"] = (
            {**start, "g": given_values[":p"], "n": {"N": draw(_numbers)}} if index else start
        )
    if index:
        request["IndexName"] = "index"
    return "query", request


@given(steps=st.lists(_writes() | _queries(), max_size=40))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_query_returns_the_same_as_a_scan_of_the_partition(play: Play, steps: Steps) -> None:
    for ours, alone in play(steps):
        assert ours == alone


def test_pages_continue_to_the_end_in_both_directions(play: Play) -> None:
    steps: Steps = [("put", {"Item": {"p": {"S": "a"}, "s": {"S": f"{number * 7 % 50:02}"}}}) for number in range(50)]
    query = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}, "Limit": 20}
    for forward in (True, False):
        found: list[str] = []
        start: dict[str, Any] = {}
        while True:
            ((status, page), alone) = play([*steps, ("query", {**query, "ScanIndexForward": forward, **start})])[0]
            assert [status, page] == alone
            found += [item["s"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        assert found == sorted((f"{number:02}" for number in range(50)), reverse=not forward)


def test_a_partition_stays_sorted_during_queries_and_changes(play: Play) -> None:
    steps: Steps = []
    for number in range(30):
        put = {"p": {"S": "a"}, "s": {"S": f"{number * 11 % 30:02}"}, "g": {"S": "a"}, "n": {"N": str(-number)}}
        steps.append(("put", {"Item": put}))
        condition = {"KeyConditionExpression": "g = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}
        steps.append(("query", {**condition, "IndexName": "index"}))
    for number, (ours, alone) in enumerate(play(steps)):
        assert ours == alone
        order = [int(item["n"]["N"]) for item in ours[1]["Items"]]
        assert len(order) == number + 1
        assert all(one < other for one, other in pairwise(order))
