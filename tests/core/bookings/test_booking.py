"""When a booking keeps how many instances."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.bookings.booking import HORIZON_MS, WEEK_MS, Booking
from headway.payers import Payer

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FROM_MS = 100 * DAY_MS
TO_MS = FROM_MS + 6 * HOUR_MS


def booking(*, weekly: bool = False, lapse_ms: int | None = None, always: bool = False) -> Booking:
    made = Booking(
        name="b",
        about="booking `b`",
        pool="p",
        count=4,
        team="a",
        from_ms=FROM_MS,
        to_ms=TO_MS,
        weekly=weekly,
        lapse_ms=lapse_ms,
    )
    return replace(made, from_ms=None, to_ms=None) if always else made


@pytest.mark.parametrize(
    ("at_ms", "once", "weekly"),
    [
        (FROM_MS - 1, 0, 0),
        (FROM_MS, 4, 4),
        (TO_MS - 1, 4, 4),
        (TO_MS, 0, 0),
        (FROM_MS + WEEK_MS - 1, 0, 0),
        (FROM_MS + WEEK_MS, 0, 4),
        (TO_MS + 9 * WEEK_MS - 1, 0, 4),
        (TO_MS + 9 * WEEK_MS, 0, 0),
        (FROM_MS - WEEK_MS, 0, 0),
    ],
)
def test_instances_are_kept_from_the_begin_of_a_window_to_its_end(at_ms: int, once: int, weekly: int) -> None:
    assert booking().count_at(at_ms) == once
    assert booking(weekly=True).count_at(at_ms) == weekly
    assert booking(always=True).count_at(at_ms) == 4


@pytest.mark.parametrize(
    ("at_ms", "lapsed"),
    [
        (FROM_MS + HOUR_MS - 1, False),
        (FROM_MS + HOUR_MS, True),
        (TO_MS, False),
        (FROM_MS + WEEK_MS, False),
        (FROM_MS + WEEK_MS + HOUR_MS, True),
    ],
)
def test_a_window_lapses_some_time_after_its_begin(at_ms: int, lapsed: bool) -> None:
    assert booking(weekly=True, lapse_ms=HOUR_MS).has_lapsed(at_ms) is lapsed
    assert not booking(weekly=True).has_lapsed(at_ms)
    assert not booking(always=True, lapse_ms=HOUR_MS).has_lapsed(at_ms)


@given(st.integers(0, 3 * WEEK_MS), st.booleans())
def test_between_two_times_the_number_is_the_same_and_it_changes_at_each(after_ms: int, weekly: bool) -> None:
    made, now_ms = booking(weekly=weekly), FROM_MS - WEEK_MS + after_ms
    times = [*made.times(now_ms)]
    assert times == sorted(times)
    assert all(now_ms < at_ms <= now_ms + HORIZON_MS for at_ms in times)
    for at_ms in times:
        assert made.count_at(at_ms) != made.count_at(at_ms - 1)
    for begin_ms, end_ms in zip([now_ms, *times], [*times, now_ms + HORIZON_MS], strict=True):
        assert made.count_at(begin_ms) == made.count_at(max(begin_ms, end_ms - 1))


@pytest.mark.parametrize(("at_ms", "once", "weekly"), [(TO_MS - 1, 4, 4), (TO_MS, 0, 4), (FROM_MS - DAY_MS, 4, 4)])
def test_what_is_kept_at_some_time_to_come(at_ms: int, once: int, weekly: int) -> None:
    assert booking().most_after(at_ms) == once
    assert booking(weekly=True).most_after(at_ms) == weekly
    assert booking(always=True).most_after(at_ms) == 4
    assert [*booking(always=True).times(at_ms)] == []


def test_it_is_for_the_jobs_that_it_names() -> None:
    assert booking().covers(Payer(team="a", owner="o"))
    assert not booking().covers(Payer(team="", owner="o"))
