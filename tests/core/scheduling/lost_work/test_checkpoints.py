"""When an attempt writes its checkpoints, and what a stop loses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.model import Allocation
from headway.policy import Policy
from headway.scheduling.lost_work.checkpoints import WRITTEN_MS, interval_ms, next_written_ms, saved_until_ms
from headway.scheduling.lost_work.lost import work_lost_ms
from headway.scheduling.scheduler import schedule
from tests.core.builders import NOW_MS, held, job, preemptions, snapshot, warm

EVERY_MS = 600_000
MINUTE_MS = 60_000


def test_work_lost_is_time_times_instances_and_with_checkpoints_at_most_what_the_policy_says() -> None:
    policy = Policy(checkpoint_interval_ms=500)
    assert work_lost_ms(held("a", count=4, since=1000), 3000, policy) == 8000
    assert work_lost_ms(held("a", count=4, since=1000, checkpoints=True), 3000, policy) == 2000
    assert work_lost_ms(held("a", count=4, since=2900, checkpoints=True), 3000, policy) == 400
    assert work_lost_ms(held("a", since=5000), 3000, policy) == 0


@pytest.mark.parametrize(
    ("trained_ms", "lost_ms"),
    [
        (-1, 0),
        (0, 0),
        (EVERY_MS - 1, EVERY_MS - 1),
        # It was due, and is being written.
        (EVERY_MS, EVERY_MS),
        (EVERY_MS + WRITTEN_MS - 1, EVERY_MS + WRITTEN_MS - 1),
        (EVERY_MS + WRITTEN_MS, WRITTEN_MS),
        (2 * EVERY_MS, EVERY_MS),
        (7 * EVERY_MS + WRITTEN_MS + 5, WRITTEN_MS + 5),
    ],
)
def test_work_since_the_last_written_checkpoint_is_lost(trained_ms: int, lost_ms: int) -> None:
    attempt = held("a", count=3, since=5, trains_since=1000, every=EVERY_MS)
    assert work_lost_ms(attempt, 1000 + trained_ms, Policy()) == 3 * lost_ms


def test_checkpoints_count_from_the_start_of_the_attempt_as_long_as_that_of_the_training_is_unknown() -> None:
    attempt = held("a", since=1000, every=EVERY_MS)
    assert saved_until_ms(attempt, EVERY_MS, 1000 + EVERY_MS + WRITTEN_MS) == 1000 + EVERY_MS


@pytest.mark.parametrize(
    ("attempt", "every_ms"),
    [
        (held("declares it", every=7), 7),
        (held("declares nothing", checkpoints=True), 9),
        (held("writes none"), None),
        (replace(warm("warm pool"), checkpoints=True, checkpoints_every_ms=7), None),
    ],
    ids=lambda each: getattr(each, "job", each),
)
def test_the_interval_is_the_jobs_own_or_that_of_the_policy(attempt: Allocation, every_ms: int | None) -> None:
    assert interval_ms(attempt, Policy(checkpoints_every_ms=9)) == every_ms


@pytest.mark.parametrize("every_ms", [0, -1])
def test_an_interval_of_a_policy_is_more_than_zero(every_ms: int) -> None:
    with pytest.raises(InvalidPolicy, match="must be more than 0"):
        Policy(checkpoints_every_ms=every_ms)


@given(every_ms=st.integers(1, 10**8), trained_ms=st.integers(0, 10**10))
def test_the_next_written_checkpoint_is_the_first_time_at_which_more_is_saved(every_ms: int, trained_ms: int) -> None:
    attempt = held("a", since=0, every=every_ms)
    next_ms = next_written_ms(attempt, every_ms, trained_ms)
    before_ms = saved_until_ms(attempt, every_ms, trained_ms)
    assert trained_ms < next_ms <= trained_ms + every_ms + WRITTEN_MS
    assert saved_until_ms(attempt, every_ms, next_ms - 1) == before_ms
    assert saved_until_ms(attempt, every_ms, next_ms) == before_ms + every_ms


@given(every_ms=st.integers(1, 10**8), at_ms=st.integers(0, 10**10))
def test_no_more_is_lost_than_an_interval_and_the_time_in_which_a_checkpoint_is_written(
    every_ms: int, at_ms: int
) -> None:
    lost_ms = work_lost_ms(held("a", every=every_ms), at_ms, Policy())
    assert 0 <= lost_ms <= min(at_ms, every_ms + WRITTEN_MS)


def test_of_equal_victims_the_one_is_stopped_that_has_just_written_a_checkpoint() -> None:
    # Both have run for longer than an interval, so without its times they lose the same, and the younger one stops.
    fresh = held("fresh", since=NOW_MS - 12 * MINUTE_MS, checkpoints=True)
    young = held("young", since=NOW_MS - 11 * MINUTE_MS + 1, checkpoints=True)
    urgent = job("urgent", 9)
    assert preemptions(schedule(snapshot(fresh, young, urgent))) == [("young", "urgent")]
    known = [replace(each, checkpoints_every_ms=10 * MINUTE_MS) for each in (fresh, young)]
    assert preemptions(schedule(snapshot(*known, urgent))) == [("fresh", "urgent")]


def test_instances_count_as_well() -> None:
    wide = held("wide", count=3, since=NOW_MS - 5 * MINUTE_MS, every=EVERY_MS)
    narrow = held("narrow", since=NOW_MS - 9 * MINUTE_MS, every=EVERY_MS)
    assert preemptions(schedule(snapshot(wide, narrow, job("urgent", 9), size=4))) == [("narrow", "urgent")]


def test_a_lower_priority_comes_before_less_work_lost() -> None:
    dear = held("dear", 1, since=NOW_MS - 9 * MINUTE_MS, every=EVERY_MS)
    cheap = held("cheap", 2, since=NOW_MS - MINUTE_MS, every=EVERY_MS)
    assert preemptions(schedule(snapshot(dear, cheap, job("urgent", 9)))) == [("dear", "urgent")]


@pytest.mark.parametrize(
    ("attempt", "ends"),
    [
        (
            held("x", since=NOW_MS - EVERY_MS - WRITTEN_MS - 5999, every=EVERY_MS),
            "; its last checkpoint was due 65 s before",
        ),
        (held("x", since=NOW_MS - EVERY_MS - WRITTEN_MS + 1, every=EVERY_MS), "keeps its place in the queue"),
        (held("x", since=NOW_MS - EVERY_MS - WRITTEN_MS, checkpoints=True), "keeps its place in the queue"),
    ],
    ids=["written", "none is written yet", "not known"],
)
def test_the_reason_of_a_preemption_says_when_the_last_checkpoint_was_due(attempt: Allocation, ends: str) -> None:
    (preemption,) = schedule(snapshot(attempt, job("urgent", 9), size=1)).actions
    assert preemption.reason.message.endswith(ends)
