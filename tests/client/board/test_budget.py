"""The calls of an open board are limited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.budget import WINDOW_S, CallBudget


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=200))
def test_no_window_of_a_minute_has_more_than_the_limit(asked: list[tuple[int, int]]) -> None:
    now = [0.0]
    budget = CallBudget(7, clock=lambda: now[0])
    taken: list[float] = []
    for pause, calls in asked:
        now[0] += pause
        if budget.spend(calls):
            taken += [now[0]] * calls
    for start in taken:
        assert sum(start <= each < start + WINDOW_S for each in taken) <= 7


def test_a_call_is_possible_again_when_the_window_has_passed() -> None:
    now = [0.0]
    budget = CallBudget(1, clock=lambda: now[0])
    assert budget.spend()
    now[0] = WINDOW_S - 1
    assert not budget.spend()
    now[0] = WINDOW_S
    assert budget.spend()


def test_several_calls_are_taken_together_or_not_at_all() -> None:
    budget = CallBudget(3, clock=lambda: 0.0)
    assert budget.spend(2)
    assert not budget.spend(2)
    assert budget.spend(1)
