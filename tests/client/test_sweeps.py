"""What is submitted for an array."""

from __future__ import annotations

from typing import Any

import pytest

from headway.sweeps import Sweep
from headway_client.alternatives import with_alternatives
from headway_client.dependencies import with_dependencies
from headway_client.errors import UsageError
from headway_client.sweeps import with_sweep
from tests.client.contract import request

GRID: dict[str, Any] = {"grid": {"lr": [0.1, 0.01], "layers": [2, 4]}}


def test_a_request_with_a_sweep_is_an_item_that_has_it() -> None:
    item = {"jobDetails": request("a"), "sweep": GRID}
    assert with_sweep(request("a"), GRID) == with_sweep(request("a"), Sweep.parse(GRID)) == item
    limited = with_sweep(request("a"), GRID, at_once=8, max_failures=0)
    assert limited == {**item, "atOnce": 8, "maxFailures": 0}


def test_an_array_can_have_alternatives_and_dependencies() -> None:
    body = with_dependencies(with_alternatives(request("a"), [{"ResourceConfig": {}}]), "b")
    assert with_sweep(body, GRID) == {**body, "sweep": GRID}


def test_a_request_without_a_sweep_is_submitted_as_it_is() -> None:
    assert with_sweep(request("a"), None) == request("a")


@pytest.mark.parametrize("numbers", [{"at_once": 1}, {"max_failures": 0}])
def test_numbers_of_an_array_need_a_sweep(numbers: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="is for arrays; give a sweep"):
        with_sweep(request("a"), None, **numbers)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"at_once": 0}, "at_once is 0; it has to be a whole number from 1"),
        ({"at_once": True}, "at_once is True; it has to be a whole number from 1"),
        ({"max_failures": -1}, "max_failures is -1; it has to be a whole number from 0"),
        ({"max_failures": 0.5}, "max_failures is 0.5; it has to be a whole number from 0"),
    ],
)
def test_a_number_that_is_out_of_range_is_refused(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_sweep(request("a"), GRID, **numbers)


def test_a_sweep_that_is_not_valid_is_refused_with_each_problem() -> None:
    with pytest.raises(UsageError, match=r"The sweep is not valid\.") as caught:
        with_sweep(request("a"), {"grid": {"lr": [None], "b": []}})
    assert [(each.field, each.message) for each in caught.value.fields] == [
        ("sweep.grid.lr[0]", "is null; use text, a number or a boolean"),
        ("sweep.grid.b", "is empty; add a value, or remove it"),
    ]
    with pytest.raises(UsageError) as caught:
        with_sweep(request("a"), {})
    assert caught.value.fields[0].field == "sweep"
