"""When a job whose launches got no instances is unlaunchable, and when it is tried again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.refusals import (
    UNLAUNCHABLE_AFTER_MS,
    Cause,
    FailedLaunches,
    grace_ms,
    is_unlaunchable,
    retry_ms,
    unlaunchable_from_ms,
)
from headway.refusals.giving_up import gives_up
from headway.refusals.probing import FIRST_GRACE_MS, FIRST_RETRY_MS, MAX_GRACE_MS, MAX_RETRY_MS, MAX_SOON_MS

rows = st.builds(
    FailedLaunches,
    count=st.integers(1, 100),
    since_ms=st.integers(0, 10**6),
    last_ms=st.integers(10**6, 10**8),
    cause=st.sampled_from(Cause),
    by_request_since_ms=st.none() | st.integers(0, 10**6),
)


def row(count: int, cause: Cause, **more: Any) -> FailedLaunches:
    return FailedLaunches(**{"count": count, "since_ms": 1000, "last_ms": 2000, "cause": cause, **more})


@pytest.mark.parametrize(
    ("failed", "after_ms", "unlaunchable"),
    [
        (None, 10**9, False),
        # A quota lags behind ended training jobs, and credentials expire, for some minutes.
        (row(1, Cause.QUOTA), 0, False),
        (row(9, Cause.QUOTA), UNLAUNCHABLE_AFTER_MS - 1, False),
        (row(1, Cause.QUOTA), UNLAUNCHABLE_AFTER_MS, True),
        (row(9, Cause.CREDENTIALS), UNLAUNCHABLE_AFTER_MS - 1, False),
        (row(1, Cause.CREDENTIALS), UNLAUNCHABLE_AFTER_MS, True),
        # What only its own request causes is the same the next time.
        (row(1, Cause.DENIED, by_request_since_ms=1000), UNLAUNCHABLE_AFTER_MS - 1, False),
        (row(2, Cause.DENIED, by_request_since_ms=1000), 0, True),
        (row(2, Cause.QUOTA, by_request_since_ms=1000), 0, True),
        # These have taken minutes already.
        (row(1, Cause.CAPACITY), 0, True),
        (row(1, Cause.UNANSWERED), 0, True),
        (row(1, Cause.UNREADABLE), 0, True),
    ],
)
def test_a_job_is_unlaunchable_after_minutes_or_once_more_launches_cannot_help(
    failed: FailedLaunches | None, after_ms: int, unlaunchable: bool
) -> None:
    assert is_unlaunchable(failed, 1000 + after_ms) is unlaunchable


@given(rows, st.integers(0, 10**9), st.integers(0, 10**9))
def test_what_is_unlaunchable_stays_so_until_a_launch_gets_instances(
    failed: FailedLaunches, now_ms: int, later_ms: int
) -> None:
    if is_unlaunchable(failed, now_ms):
        assert is_unlaunchable(failed, now_ms + later_ms)


@pytest.mark.parametrize(
    ("failed", "from_ms"),
    [
        (row(1, Cause.QUOTA), 1000 + UNLAUNCHABLE_AFTER_MS),
        (row(9, Cause.QUOTA, last_ms=10**7), 1000 + UNLAUNCHABLE_AFTER_MS),
        (row(1, Cause.DENIED, by_request_since_ms=1000), 1000 + UNLAUNCHABLE_AFTER_MS),
        (row(2, Cause.DENIED, by_request_since_ms=1000), 2000),
        (row(3, Cause.DENIED, by_request_since_ms=1000, last_ms=10**7), 1000 + UNLAUNCHABLE_AFTER_MS),
        (row(1, Cause.CAPACITY, last_ms=10**7), 10**7),
        (row(2, Cause.CAPACITY, last_ms=10**7), 1000 + UNLAUNCHABLE_AFTER_MS),
    ],
)
def test_it_is_known_from_when_on_a_job_is_unlaunchable(failed: FailedLaunches, from_ms: int) -> None:
    assert unlaunchable_from_ms(failed) == from_ms


@given(rows)
def test_a_job_is_unlaunchable_from_then_on(failed: FailedLaunches) -> None:
    assert is_unlaunchable(failed, max(failed.last_ms, unlaunchable_from_ms(failed)))


@given(rows)
def test_a_job_is_tried_more_and_more_rarely_but_at_least_every_ten_minutes(failed: FailedLaunches) -> None:
    wait_ms = retry_ms(failed) - failed.last_ms
    assert FIRST_RETRY_MS <= wait_ms <= MAX_RETRY_MS
    assert is_unlaunchable(failed, failed.last_ms) or wait_ms <= MAX_SOON_MS


@pytest.mark.parametrize(
    ("count", "cause", "wait_s"),
    [
        (1, Cause.QUOTA, 10),
        (2, Cause.QUOTA, 20),
        (3, Cause.QUOTA, 40),
        (4, Cause.QUOTA, 60),
        (40, Cause.QUOTA, 60),
        (1, Cause.CAPACITY, 10),
        (4, Cause.CAPACITY, 80),
        (7, Cause.CAPACITY, 600),
        (70, Cause.CAPACITY, 600),
    ],
)
def test_each_wait_is_twice_as_long_as_the_one_before(count: int, cause: Cause, wait_s: int) -> None:
    assert retry_ms(row(count, cause)) == 2000 + wait_s * 1000


@pytest.mark.parametrize(("before", "minutes"), [(0, 7), (1, 14), (2, 28), (3, 56), (4, 60), (99, 60)])
def test_an_attempt_may_wait_longer_for_its_instances_each_time(before: int, minutes: int) -> None:
    assert grace_ms(before) == minutes * 60_000
    assert FIRST_GRACE_MS <= grace_ms(before) <= MAX_GRACE_MS


@pytest.mark.parametrize(
    ("failed", "now_ms", "ends"),
    [
        (None, 10**9, False),
        (row(99, Cause.CAPACITY), 10**9, False),
        (row(99, Cause.DENIED, by_request_since_ms=5000), 5000 + 59_999, False),
        (row(99, Cause.DENIED, by_request_since_ms=5000), 5000 + 60_000, True),
    ],
)
def test_only_a_job_that_its_own_request_keeps_from_starting_is_given_up(
    failed: FailedLaunches | None, now_ms: int, ends: bool
) -> None:
    assert gives_up(failed, 60_000, now_ms) is ends
