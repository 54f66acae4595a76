"""The service that jobs have attained: on entry, while an attempt runs, and the levels that divide it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.policy import Order, Policy
from headway.scheduling.equals.attained import (
    FIRST_LEVEL_MS,
    LEVELS,
    SERVICE_WEIGHT,
    TIMES_MORE,
    attained_handicap_ms,
    attained_on_entry_ms,
    current_attained_ms,
    level,
    max_handicap_on_entry_ms,
    rises_ms,
)
from headway.scheduling.equals.current import current_handicap_ms, current_turn_ms
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS
from tests.core.builders import G5, NOW_MS, P5, changed, held

SHARED = Policy(order=Order.SHARED)
HOUR = 3_600_000
MOST_MS = 1 << 60

services = st.integers(0, 10 * FIRST_LEVEL_MS * TIMES_MORE**LEVELS)


def test_a_job_enters_without_service() -> None:
    assert attained_on_entry_ms(SHARED) == 0


@pytest.mark.parametrize("order", [order for order in Order if order is not Order.SHARED])
def test_other_orders_compare_no_service(order: Order) -> None:
    assert attained_on_entry_ms(Policy(order=order)) is None
    assert max_handicap_on_entry_ms(5000, Policy(order=order)) == 0


@pytest.mark.parametrize(
    ("limit_ms", "counts_ms"),
    [(5000, 5000), (None, LONGEST_LIMIT_MS), (LONGEST_LIMIT_MS + 1, LONGEST_LIMIT_MS)],
)
def test_the_largest_handicap_is_the_bound_on_waiting_times_the_limit(limit_ms: int | None, counts_ms: int) -> None:
    assert max_handicap_on_entry_ms(limit_ms, SHARED) == 100 * counts_ms
    assert max_handicap_on_entry_ms(limit_ms, replace(SHARED, wait_bound=7)) == 7 * counts_ms


@pytest.mark.parametrize(
    ("hours", "number"),
    [
        (0, 0),
        (0.4, 0),
        (0.5, 1),
        (1.9, 1),
        (2, 2),
        (8, 3),
        (32, 4),
        (128, 5),
        (512, 6),
        (2047, 6),
        (2048, 7),
        (10**9, 7),
    ],
)
def test_each_level_reaches_four_times_as_far_as_the_one_below_it(hours: float, number: int) -> None:
    assert level(int(hours * HOUR)) == number


@pytest.mark.parametrize(
    ("hours", "most_ms", "handicap_hours"),
    [
        (0.4, MOST_MS, 0),
        (0.5, MOST_MS, 50),
        (1.9, MOST_MS, 50),
        (2, MOST_MS, 200),
        (5000, MOST_MS, 204_800),
        (2, 199 * HOUR, 199),
        (2, 201 * HOUR, 200),
        (0.4, 199 * HOUR, 0),
    ],
)
def test_the_handicap_is_a_hundred_times_the_least_service_of_the_level_within_the_bound(
    hours: float, most_ms: int, handicap_hours: int
) -> None:
    assert attained_handicap_ms(int(hours * HOUR), most_ms) == handicap_hours * HOUR


@pytest.mark.parametrize(("demand", "count"), [({P5: 3}, 3), ({P5: 3, G5: 2}, 5)])
def test_all_instances_count_as_service(demand: dict[str, int], count: int) -> None:
    attempt = changed(held("x", since=NOW_MS), demand=demand, attained_ms=7)
    assert current_attained_ms(attempt, NOW_MS + 1000) == 7 + 1000 * count
    assert current_attained_ms(attempt, NOW_MS - 1000) == 7


def test_the_handicap_and_the_turn_of_an_attempt_become_later_while_it_runs() -> None:
    attempt = changed(held("x", since=NOW_MS), entry_time_ms=7, attained_ms=0, max_handicap_ms=MOST_MS)
    half_ms = HOUR // 2
    assert [current_handicap_ms(attempt, NOW_MS + ran_ms) for ran_ms in (-5, half_ms - 1, half_ms, 2 * HOUR)] == [
        0,
        0,
        50 * HOUR,
        200 * HOUR,
    ]
    assert current_turn_ms(attempt, NOW_MS + half_ms) == 7 + 50 * HOUR
    assert current_handicap_ms(changed(attempt, max_handicap_ms=9), NOW_MS + half_ms) == 9
    assert current_handicap_ms(changed(attempt, attained_ms=None, handicap_ms=3), NOW_MS + half_ms) == 3


@given(services, services, st.integers(0, MOST_MS))
def test_neither_the_level_nor_the_handicap_falls_as_service_grows(one_ms: int, other_ms: int, most_ms: int) -> None:
    less_ms, more_ms = sorted([one_ms, other_ms])
    assert 0 <= level(less_ms) <= level(more_ms) < LEVELS
    assert 0 <= attained_handicap_ms(less_ms, most_ms) <= attained_handicap_ms(more_ms, most_ms) <= most_ms
    assert attained_handicap_ms(less_ms, MOST_MS) <= SERVICE_WEIGHT * less_ms


@given(services, st.integers(1, 64))
def test_an_attempt_rises_at_the_times_at_which_its_level_changes(attained_ms: int, count: int) -> None:
    attempt = changed(held("x", since=NOW_MS), demand={P5: count}, attained_ms=attained_ms)
    levels = [level(attained_ms)]
    for at_ms in rises_ms(attempt):
        levels.append(level(current_attained_ms(attempt, at_ms)))
        assert level(current_attained_ms(attempt, at_ms - 1)) < levels[-1]
    # Some levels are passed within one millisecond.
    assert levels == sorted(levels)
    assert levels[-1] == LEVELS - 1


def test_an_attempt_of_another_order_never_rises() -> None:
    assert list(rises_ms(held("x"))) == []
