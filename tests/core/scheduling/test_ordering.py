"""The total orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model import WaitingJob
from headway.policy import MAX_WAIT_BOUND, SHORT_WEIGHT, Ageing, Order, Policy
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS
from headway.scheduling.ordering import (
    MAX_PRIORITY,
    effective_priority,
    handicap_ms,
    rank,
    rank_key,
    running_priority,
)
from tests.core.builders import NOW_MS, held, job, waiting_job

jobs = st.builds(
    waiting_job,
    name=st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,10}", fullmatch=True),
    demand=st.just({"ml.p5.48xlarge": 1}),
    priority=st.integers(0, MAX_PRIORITY),
    entry_time_ms=st.integers(0, 4_999_999_999_999),
    handicap_ms=st.integers(0, 4_999_999_999_999),
)


@given(jobs, jobs)
def test_the_sort_key_of_a_queue_sorts_as_the_rank_does(left: WaitingJob, right: WaitingJob) -> None:
    keys = [rank_key(job.terms.priority, job.terms.turn_ms, job.name) for job in (left, right)]
    assert (rank(left) < rank(right)) == (keys[0] < keys[1])
    assert (rank(left) == rank(right)) == (keys[0] == keys[1])


@pytest.mark.parametrize("limit_ms", [1000, None])
def test_in_the_order_fifo_limits_do_not_count(limit_ms: int | None) -> None:
    assert handicap_ms(limit_ms, {"p": 8}, Policy()) == 0


@pytest.mark.parametrize(
    ("demand", "limit_ms", "bound", "handicap"),
    [
        ({"p": 1}, 1000, 100, 10_000),
        ({"p": 3}, 1000, 100, 30_000),
        ({"p": 3, "q": 2}, 1000, 100, 50_000),
        ({"p": 10}, 1000, 100, 100_000),
        ({"p": 11}, 1000, 100, 100_000),
        ({"p": 1}, 1000, 5, 5000),
        ({"p": 2}, None, 100, 20 * LONGEST_LIMIT_MS),
        ({"p": 2}, LONGEST_LIMIT_MS + 1, 100, 20 * LONGEST_LIMIT_MS),
    ],
)
def test_in_the_order_short_a_handicap_is_the_limit_times_the_instances_up_to_a_bound(
    demand: dict[str, int], limit_ms: int | None, bound: int, handicap: int
) -> None:
    policy = Policy(order=Order.SHORT, wait_bound=bound)
    assert handicap_ms(limit_ms, demand, policy) == handicap


@given(
    st.builds(Policy, order=st.just(Order.SHORT), wait_bound=st.integers(1, MAX_WAIT_BOUND)),
    st.tuples(st.integers(0, 10**10), st.integers(0, 10**10)),
    st.tuples(st.none() | st.integers(0, 10**10), st.none() | st.integers(0, 10**10)),
    st.tuples(st.integers(1, 200), st.integers(1, 200)),
)
def test_a_job_is_passed_only_by_smaller_equals_that_enter_within_its_handicap(
    policy: Policy,
    entered_ms: tuple[int, int],
    limits_ms: tuple[int | None, int | None],
    instances: tuple[int, int],
) -> None:
    first, later = (
        waiting_job(
            name=name,
            demand={"p": count},
            priority=0,
            entry_time_ms=entry_ms,
            handicap_ms=handicap_ms(limit_ms, {"p": count}, policy),
            limit_ms=limit_ms,
        )
        for name, entry_ms, limit_ms, count in zip("ab", sorted(entered_ms), limits_ms, instances, strict=True)
    )
    if rank(later) < rank(first):
        assert later.terms.entry_time_ms < first.terms.entry_time_ms + first.terms.standing.handicap_ms
        assert first.terms.standing.handicap_ms <= policy.wait_bound * (
            LONGEST_LIMIT_MS if first.terms.limit_ms is None else first.terms.limit_ms
        )
        assert _size(later, policy) < _size(first, policy)


def _size(job: WaitingJob, policy: Policy) -> int:
    """What the order compares beside entry times."""
    limit_ms = LONGEST_LIMIT_MS if job.terms.limit_ms is None else min(job.terms.limit_ms, LONGEST_LIMIT_MS)
    return limit_ms * min(sum(job.demand.values()) * SHORT_WEIGHT, policy.wait_bound)


def test_the_longest_handicap_still_fits_a_sort_key() -> None:
    policy = Policy(order=Order.SHORT, wait_bound=MAX_WAIT_BOUND)
    turn_ms = 4_999_999_999_999 + handicap_ms(None, {"p": 1000}, policy)
    assert len(rank_key(0, turn_ms, "a")) == len(rank_key(0, 0, "a"))


@pytest.mark.parametrize(("waited_ms", "gained"), [(0, 0), (999, 0), (1000, 1), (1001, 1), (1999, 1), (2000, 2)])
def test_waiting_adds_a_priority_for_each_whole_interval(waited_ms: int, gained: int) -> None:
    policy = Policy(ageing=Ageing(interval_ms=1000, cap=5))
    assert effective_priority(job("w", 3, entered=NOW_MS - waited_ms), NOW_MS, policy) == 3 + gained
    running = held("r", 3, since=NOW_MS, entered=NOW_MS - waited_ms)
    assert running_priority(running, policy) == 3 + gained
