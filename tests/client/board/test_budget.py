"""The calls of an open board are limited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.budget import MINUTE_S, CallBudget


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=200))
def test_no_span_of_time_has_more_than_the_burst_and_what_was_added_in_it(asked: list[tuple[int, int]]) -> None:
    clock = Clock()
    budget = CallBudget(7, burst=20, clock=clock)
    taken: list[float] = []
    for pause, calls in asked:
        clock.now_s += pause
        if budget.spend(calls):
            taken += [clock.now_s] * calls
    for first, begin_s in enumerate(taken):
        for count, end_s in enumerate(taken[first:], 1):
            assert count <= 20 + (end_s - begin_s) * 7 / MINUTE_S + 0.001


@given(st.lists(st.integers(1, 9), max_size=9))
def test_there_is_room_after_the_wait_and_not_a_second_before(spent: list[int]) -> None:
    clock = Clock()
    budget = CallBudget(7, burst=20, clock=clock)
    for calls in spent:
        budget.spend(calls)
    wait_s = budget.wait_s(9)
    if wait_s:
        clock.now_s += wait_s - 1
        assert not budget.spend(9)
        assert f"in {budget.wait_s()} s" in budget.refusal()
        clock.now_s += 1
    assert budget.spend(9)


@pytest.mark.parametrize(("burst", "at_once"), [(None, 3), (5, 5)])
def test_it_begins_full_and_holds_no_more_however_long_nobody_calls(burst: int | None, at_once: int) -> None:
    clock = Clock()
    budget = CallBudget(3, burst=burst, clock=clock)
    for _ in range(2):
        assert [budget.spend() for _ in range(at_once + 1)] == [*[True] * at_once, False]
        clock.now_s += 100 * MINUTE_S


def test_several_calls_are_taken_together_or_not_at_all() -> None:
    budget = CallBudget(3, clock=lambda: 0.0)
    assert budget.spend(2)
    assert not budget.spend(2)
    assert budget.spend(1)
