"""What is left of limits: on entry, while an attempt runs, and after it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.policy import Order, Policy
from headway.scheduling.equals.current import current_handicap_ms, current_turn_ms
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS
from headway.scheduling.equals.remaining import after_attempt, left_on_entry_ms
from tests.core.builders import NOW_MS, changed, held

BY_REMAINING = Policy(order=Order.SHORTEST_REMAINING)


@pytest.mark.parametrize(
    ("limit_ms", "left_ms"),
    [
        (5000, 5000),
        (0, 1),
        (None, LONGEST_LIMIT_MS),
        (LONGEST_LIMIT_MS + 1, LONGEST_LIMIT_MS + 1),
    ],
)
def test_all_of_a_limit_is_left_on_entry(limit_ms: int | None, left_ms: int) -> None:
    assert left_on_entry_ms(limit_ms, BY_REMAINING) == left_ms


@pytest.mark.parametrize("policy", [Policy(), Policy(order=Order.SHORT)], ids=str)
def test_other_orders_do_not_compare_what_is_left(policy: Policy) -> None:
    assert left_on_entry_ms(5000, policy) is None


@pytest.mark.parametrize(
    ("kept_ms", "after"),
    [(0, (1000, 40_000)), (250, (750, 30_000)), (999, (1, 40)), (1000, (1, 40)), (5000, (1, 40)), (-7, (1000, 40_000))],
)
def test_an_attempt_leaves_less_by_what_need_not_be_repeated(kept_ms: int, after: tuple[int, int]) -> None:
    assert after_attempt(1000, 40_000, kept_ms) == after


def test_the_handicap_and_the_turn_of_an_attempt_become_earlier_while_it_runs() -> None:
    attempt = changed(held("x", since=NOW_MS), entry_time_ms=7, handicap_ms=40_000, left_ms=1000)
    assert [current_handicap_ms(attempt, NOW_MS + ran_ms) for ran_ms in (-5, 0, 250, 2000)] == [
        40_000,
        40_000,
        30_000,
        40,
    ]
    assert current_turn_ms(attempt, NOW_MS + 250) == 30_007
    assert current_turn_ms(changed(attempt, left_ms=None), NOW_MS + 250) == 40_007


@given(st.integers(1, 10**10), st.integers(0, 10**12), st.lists(st.integers(-5, 10**10), min_size=1, max_size=8))
def test_neither_what_is_left_nor_the_handicap_ever_rises(left_ms: int, handicap_ms: int, kept_ms: list[int]) -> None:
    for each_ms in kept_ms:
        after_ms, then_ms = after_attempt(left_ms, handicap_ms, each_ms)
        assert 1 <= after_ms <= left_ms
        assert 0 <= then_ms <= handicap_ms
        left_ms, handicap_ms = after_ms, then_ms


@given(st.integers(1, 10**10), st.integers(0, 10**12), st.integers(0, 10**10), st.integers(0, 10**10))
def test_a_stopped_job_ranks_no_earlier_than_its_attempt_did(
    left_ms: int, handicap_ms: int, ran_ms: int, lost_ms: int
) -> None:
    attempt = changed(held("x", since=0), handicap_ms=handicap_ms, left_ms=left_ms)
    _, then_ms = after_attempt(left_ms, handicap_ms, max(0, ran_ms - lost_ms))
    assert then_ms >= current_handicap_ms(attempt, ran_ms)
