"""When an attempt writes its checkpoints, and what a stop loses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.model import Allocation
from headway.policy import Policy
from headway.scheduling.lost_work.checkpoints import (
    WRITTEN_MS,
    interval_ms,
    last_seen_ms,
    next_written_ms,
    saved_until_ms,
)
from headway.scheduling.lost_work.lost import work_lost_ms
from headway.scheduling.scheduler import schedule
from tests.core.builders import NOW_MS, changed, held, job, preemptions, snapshot, warm

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
        (changed(warm("warm pool"), checkpoints=True, checkpoints_every_ms=7), None),
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
    known = [changed(each, checkpoints_every_ms=10 * MINUTE_MS) for each in (fresh, young)]
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
            "; its last checkpoint was due 66 s before",
        ),
        (held("x", since=NOW_MS - EVERY_MS - WRITTEN_MS + 1, every=EVERY_MS), "keeps its place in the queue"),
        (held("x", since=NOW_MS - EVERY_MS - WRITTEN_MS, checkpoints=True), "keeps its place in the queue"),
        (held("x", every=EVERY_MS, seen=NOW_MS - 5999), "; its last checkpoint was written 6 s before"),
        (held("x", checkpoints=True, seen=NOW_MS - 5999), "; its last checkpoint was written 6 s before"),
        # S3's clock is ahead of the one by which is decided.
        (held("x", checkpoints=True, seen=NOW_MS + 5999), "; its last checkpoint was written 0 s before"),
        (
            held("x", every=EVERY_MS, seen=NOW_MS - EVERY_MS - WRITTEN_MS),
            "; its last checkpoint was due 1 min before",
        ),
    ],
    ids=["written", "none is written yet", "not known", "seen", "only seen", "seen later", "due since"],
)
def test_the_reason_of_a_preemption_says_when_the_last_checkpoint_was_written(attempt: Allocation, ends: str) -> None:
    (preemption,) = schedule(snapshot(attempt, job("urgent", 9), size=1)).actions
    assert preemption.reason.message.endswith(ends)


SEEN_MS = 5_000_000
"""When a checkpoint was written that was seen, ms."""


@pytest.mark.parametrize(
    ("attempt", "seen_ms"),
    [
        (held("trains", trains_since=SEEN_MS - 1, seen=SEEN_MS, checkpoints=True), SEEN_MS),
        (held("from before", trains_since=SEEN_MS, seen=SEEN_MS, checkpoints=True), None),
        (held("starts", since=SEEN_MS - 1, seen=SEEN_MS, checkpoints=True), SEEN_MS),
        (held("from before the start", since=SEEN_MS, seen=SEEN_MS, checkpoints=True), None),
        (held("writes none", seen=SEEN_MS), None),
        (held("nothing seen", checkpoints=True), None),
        (changed(warm("warm pool"), checkpoints=True, checkpoint_seen_ms=SEEN_MS), None),
    ],
    ids=lambda each: getattr(each, "job", each),
)
def test_a_checkpoint_counts_as_seen_if_this_attempt_has_written_it(attempt: Allocation, seen_ms: int | None) -> None:
    assert last_seen_ms(attempt) == seen_ms


@pytest.mark.parametrize(
    ("since_seen_ms", "lost_ms"),
    [
        # By a clock that is behind.
        (-1, 0),
        (0, 0),
        (EVERY_MS - 1, EVERY_MS - 1),
        (EVERY_MS + WRITTEN_MS - 1, EVERY_MS + WRITTEN_MS - 1),
        (EVERY_MS + WRITTEN_MS, WRITTEN_MS),
        (3 * EVERY_MS + WRITTEN_MS + 5, WRITTEN_MS + 5),
    ],
)
def test_intervals_count_from_the_newest_checkpoint_that_was_seen(since_seen_ms: int, lost_ms: int) -> None:
    # The script loaded data for 100 s before it began to count, so by the start of the training it is out of step.
    attempt = held("a", count=3, trains_since=SEEN_MS - EVERY_MS - 100_000, every=EVERY_MS, seen=SEEN_MS)
    assert work_lost_ms(attempt, SEEN_MS + since_seen_ms, Policy()) == 3 * lost_ms


@pytest.mark.parametrize(
    ("since_seen_ms", "lost_ms"),
    [(-1, 0), (0, 0), (200_000, 200_000), (EVERY_MS, EVERY_MS), (EVERY_MS + 1, EVERY_MS)],
)
def test_without_an_interval_the_time_since_the_newest_checkpoint_that_was_seen_is_lost(
    since_seen_ms: int, lost_ms: int
) -> None:
    attempt = held("a", count=3, checkpoints=True, seen=SEEN_MS)
    assert work_lost_ms(attempt, SEEN_MS + since_seen_ms, Policy(checkpoint_interval_ms=EVERY_MS)) == 3 * lost_ms


times = st.integers(0, 10**8)


# By SageMaker's clock a training may have begun before its attempt did by ours.
@given(since_ms=times, training_ms=st.integers(-(10**6), 10**8), seen_ms=times, after_ms=times, longest_ms=times)
@example(since_ms=5000, training_ms=-5000, seen_ms=1, after_ms=0, longest_ms=9000)
def test_without_an_interval_no_more_is_lost_because_a_checkpoint_was_seen(
    since_ms: int, training_ms: int, seen_ms: int, after_ms: int, longest_ms: int
) -> None:
    attempt = held("a", since=since_ms, trains_since=since_ms + training_ms, checkpoints=True)
    policy = Policy(checkpoint_interval_ms=longest_ms)
    seen = replace(attempt, checkpoint_seen_ms=seen_ms)
    assert 0 <= work_lost_ms(seen, since_ms + after_ms, policy) <= work_lost_ms(attempt, since_ms + after_ms, policy)


@given(every_ms=st.integers(1, 10**8), training_ms=times, seen_ms=times, at_ms=times)
def test_with_an_interval_no_more_is_lost_than_since_the_seen_checkpoint_and_than_an_interval(
    every_ms: int, training_ms: int, seen_ms: int, at_ms: int
) -> None:
    attempt = held("a", trains_since=training_ms, every=every_ms, seen=seen_ms)
    lost_ms = work_lost_ms(attempt, at_ms, Policy())
    since_ms = max(0, at_ms - max(training_ms, seen_ms))
    assert 0 <= lost_ms <= min(since_ms, every_ms + WRITTEN_MS)


@given(every_ms=st.integers(1, 10**8), seen_ms=times, after_ms=times)
def test_the_next_checkpoint_is_due_an_interval_after_the_one_that_was_seen(
    every_ms: int, seen_ms: int, after_ms: int
) -> None:
    attempt = held("a", since=-1, every=every_ms, seen=seen_ms)
    next_ms = next_written_ms(attempt, every_ms, seen_ms + after_ms)
    assert 0 < next_ms - (seen_ms + after_ms) <= every_ms + WRITTEN_MS
    assert (next_ms - seen_ms - WRITTEN_MS) % every_ms == 0


def test_of_equal_victims_the_one_is_stopped_whose_checkpoint_was_just_seen() -> None:
    seen = held("seen", since=NOW_MS - 20 * MINUTE_MS, checkpoints=True, seen=NOW_MS - MINUTE_MS)
    young = held("young", since=NOW_MS - 11 * MINUTE_MS, checkpoints=True)
    urgent = job("urgent", 9)
    assert preemptions(schedule(snapshot(seen, young, urgent))) == [("seen", "urgent")]
    unseen = replace(seen, checkpoint_seen_ms=None)
    assert preemptions(schedule(snapshot(unseen, young, urgent))) == [("young", "urgent")]
