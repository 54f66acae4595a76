"""What a job is compared by with its equals: on entry, while it runs, and after attempts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.job_terms import Standing
from headway.model import Allocation
from headway.policy import PREDICTED_ORDERS, Order, Policy
from headway.scheduling.equals.current import current_handicap_ms
from headway.scheduling.equals.expected import LEAST_EXPECTED_MS, MAX_EXTENSIONS
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS
from headway.scheduling.standing import standing_after, standing_on_entry
from tests.core.builders import NOW_MS, P5, changed, held

HOUR = 3_600_000
BY_PREDICTIONS = Policy(order=Order.SHORTEST_REMAINING, by_predictions=True)


def entered(
    predicted_ms: int | None, limit_ms: int | None = 10 * HOUR, policy: Policy = BY_PREDICTIONS, count: int = 1
) -> Standing:
    return standing_on_entry(limit_ms, {P5: count}, policy, predicted_ms=predicted_ms)


def attempt_of(standing: Standing, count: int = 1) -> Allocation:
    return changed(held("x", since=NOW_MS, count=count, checkpoints=True), standing=standing)


@pytest.mark.parametrize(
    ("predicted_ms", "limit_ms", "counts_ms"),
    [
        (2 * HOUR, 10 * HOUR, 2 * HOUR),
        (2 * HOUR, None, 2 * HOUR),
        (0, 10 * HOUR, LEAST_EXPECTED_MS),
        # Nothing is expected that is not less than the limit.
        (10 * HOUR, 10 * HOUR, None),
        (11 * HOUR, 10 * HOUR, None),
        (5000, 10_000, None),
        (LONGEST_LIMIT_MS, None, None),
        (None, 10 * HOUR, None),
    ],
)
@pytest.mark.parametrize("order", sorted(PREDICTED_ORDERS))
def test_a_predicted_run_time_counts_in_place_of_a_longer_limit(
    order: Order, predicted_ms: int | None, limit_ms: int | None, counts_ms: int | None
) -> None:
    policy = replace(BY_PREDICTIONS, order=order)
    by_limit = entered(None, limit_ms, policy, count=3)
    if counts_ms is None:
        assert entered(predicted_ms, limit_ms, policy, count=3) == by_limit
    else:
        found = entered(predicted_ms, limit_ms, policy, count=3)
        assert found.handicap_ms == 30 * counts_ms
        assert found.left_ms == by_limit.left_ms
        is_kept = order is Order.SHORTEST_REMAINING
        assert (found.expected_ms, found.extension_ms) == ((counts_ms, counts_ms) if is_kept else (None, 0))


@pytest.mark.parametrize("order", Order)
def test_without_the_option_a_prediction_changes_nothing(order: Order) -> None:
    policy = Policy(order=order)
    assert entered(HOUR, policy=policy) == entered(None, policy=policy)


@pytest.mark.parametrize("order", [order for order in Order if order not in PREDICTED_ORDERS])
def test_orders_that_compare_no_run_times_refuse_the_option(order: Order) -> None:
    with pytest.raises(InvalidPolicy, match="predictions count in the orders short and shortest-remaining"):
        Policy(order=order, by_predictions=True)


@pytest.mark.parametrize(
    ("ran_h", "counts_h"),
    # 2 hours are expected of 12; then 4, 8, and all 12.
    [(0, 2), (1.5, 0.5), (2, 2), (3, 1), (4, 4), (7, 1), (8, 4), (11, 1)],
)
def test_the_expectation_of_a_job_that_runs_on_is_extended_up_to_its_limit(ran_h: float, counts_h: float) -> None:
    attempt = attempt_of(entered(2 * HOUR, 12 * HOUR))
    assert current_handicap_ms(attempt, NOW_MS + int(ran_h * HOUR)) == 10 * counts_h * HOUR


def test_beyond_its_limit_a_millisecond_is_left() -> None:
    attempt = attempt_of(entered(2 * HOUR, 12 * HOUR))
    assert current_handicap_ms(attempt, NOW_MS + 13 * HOUR) == 10


@pytest.mark.parametrize(
    ("held_h", "kept_h", "after_h"),
    [
        (1, 1, (1, 2, 11)),
        (1, 0.5, (1.5, 2, 11.5)),
        (1, 0, (2, 2, 12)),
        # What was lost counts as time for which it ran, so more is expected of it now.
        (2, 0, (4, 4, 12)),
        (2, 1.5, (2.5, 4, 10.5)),
        (5, 4.5, (3.5, 8, 7.5)),
        (9, 8.5, (3.5, 16, 3.5)),
    ],
)
def test_after_an_attempt_more_is_expected_if_it_held_its_instances_for_longer(
    held_h: float, kept_h: float, after_h: tuple[float, float, float]
) -> None:
    attempt = attempt_of(entered(2 * HOUR, 12 * HOUR))
    after = standing_after(attempt, NOW_MS + int(held_h * HOUR), int(kept_h * HOUR))
    expected_h, extension_h, left_h = after_h
    assert after == Standing(
        handicap_ms=int(10 * expected_h * HOUR),
        left_ms=int(left_h * HOUR),
        expected_ms=int(expected_h * HOUR),
        extension_ms=int(extension_h * HOUR),
    )


def test_no_more_is_expected_than_is_left_of_the_limit_however_long_an_attempt_took() -> None:
    attempt = attempt_of(entered(2 * HOUR, 12 * HOUR))
    for held_h in (13, 40):
        after = standing_after(attempt, NOW_MS + held_h * HOUR, 11 * HOUR)
        assert (after.expected_ms, after.left_ms, after.extension_ms) == (HOUR, HOUR, 16 * HOUR)


runs = st.lists(
    st.tuples(st.integers(0, 12 * HOUR) | st.integers(0, 3 * LONGEST_LIMIT_MS), st.floats(0, 1)), min_size=1, max_size=8
)
limits = st.none() | st.integers(1, 40 * HOUR)
predictions = st.integers(0, 40 * HOUR)
counts = st.integers(1, 20)


@given(limits, predictions, counts, runs)
def test_no_handicap_exceeds_that_of_the_limit_and_few_rise(
    limit_ms: int | None, predicted_ms: int, count: int, attempts: list[tuple[int, float]]
) -> None:
    """Promise 7: so no equal that enters later than that after a job passes it, and handicaps come to rest."""
    standing, most_ms = entered(predicted_ms, limit_ms, count=count), entered(None, limit_ms, count=count).handicap_ms
    rises = 0
    for held_ms, kept in attempts:
        attempt = attempt_of(standing, count)
        now_ms = NOW_MS + held_ms
        assert 1 <= current_handicap_ms(attempt, now_ms) <= most_ms
        after = standing_after(attempt, now_ms, int(held_ms * kept))
        assert 1 <= after.handicap_ms <= most_ms
        assert after.expected_ms is None or 1 <= after.expected_ms <= (after.left_ms or 0)
        if after.extension_ms == standing.extension_ms:
            assert after.handicap_ms <= standing.handicap_ms
        else:
            rises += (after.extension_ms // standing.extension_ms).bit_length() - 1
        standing = after
    assert rises <= MAX_EXTENSIONS


@given(limits, predictions, counts, runs)
def test_a_stopped_job_ranks_no_earlier_than_its_attempt_did(
    limit_ms: int | None, predicted_ms: int, count: int, attempts: list[tuple[int, float]]
) -> None:
    """Promise 7: a job that was stopped for an equal does not stop that one in turn by what the stop has changed."""
    standing = entered(predicted_ms, limit_ms, count=count)
    for held_ms, kept in attempts:
        attempt = attempt_of(standing, count)
        standing = standing_after(attempt, NOW_MS + held_ms, int(held_ms * kept))
        assert standing.handicap_ms >= current_handicap_ms(attempt, NOW_MS + held_ms)
