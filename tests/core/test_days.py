"""Spans by UTC day, and the periods of a range."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.days import DAY_MS, begin_ms, day_of, days, end_of_month, kept_since, periods, split

TIMES_MS = st.integers(0, 4_000_000_000_000)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@given(TIMES_MS, st.integers(0, 40 * DAY_MS))
def test_a_split_span_keeps_its_length_and_each_part_is_within_its_day(begin: int, length: int) -> None:
    parts = split(begin, begin + length)
    assert sum(parts.values()) == length
    assert list(parts) == sorted(parts)
    for day, part in parts.items():
        assert 0 < part <= DAY_MS
        assert begin_ms(day) < begin + length
        assert begin_ms(day) + DAY_MS > begin


@pytest.mark.parametrize(
    ("begin", "end", "parts"),
    [
        ("2026-11-25T23:00", "2026-11-26T01:30", {"2026-11-25": 60, "2026-11-26": 90}),
        ("2026-11-25T00:00", "2026-11-26T00:00", {"2026-11-25": 24 * 60}),
        ("2026-11-25T12:00", "2026-11-25T12:00", {}),
        ("2026-11-25T12:00", "2026-11-25T11:00", {}),
    ],
)
def test_a_span_is_split_at_midnight(begin: str, end: str, parts: dict[str, int]) -> None:
    found = split(at(begin), at(end))
    assert {day.isoformat(): part // 60_000 for day, part in found.items()} == parts


@given(st.dates(date(2020, 1, 1), date(2030, 12, 31)), st.integers(0, 800))
def test_the_periods_of_a_range_have_each_of_its_days_once(first: date, length: int) -> None:
    last = first + timedelta(days=length)
    found = [day for each in periods(first, last) for day in _days_of(each.name)]
    assert found == [first + timedelta(days=number) for number in range(length + 1)]


def _days_of(name: str) -> list[date]:
    if len(name) > len("2026-11"):
        return [date.fromisoformat(name)]
    first = date.fromisoformat(f"{name}-01")
    following = (first + timedelta(days=32)).replace(day=1)
    return [first + timedelta(days=number) for number in range((following - first).days)]


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        ("2026-01-01", "2026-02-28", ["2026-01", "2026-02"]),
        ("2026-01-30", "2026-03-01", ["2026-01-30", "2026-01-31", "2026-02", "2026-03-01"]),
        ("2026-01-02", "2026-01-02", ["2026-01-02"]),
        ("2026-01-02", "2026-01-01", []),
        ("0001-01-01", "0001-02-02", ["0001-01", "0001-02-01", "0001-02-02"]),
        ("9999-11-30", "9999-12-31", ["9999-11-30", "9999-12"]),
        ("9999-12-30", "9999-12-31", ["9999-12-30", "9999-12-31"]),
    ],
)
def test_a_range_consists_of_whole_months_and_the_days_around_them(first: str, last: str, names: list[str]) -> None:
    assert [each.name for each in periods(date.fromisoformat(first), date.fromisoformat(last))] == names


def test_a_month_that_may_not_be_taken_as_a_whole_is_taken_by_days() -> None:
    first, last = date(2026, 2, 1), date(2026, 3, 31)
    found = [each.name for each in periods(first, last, frozenset({"2026-02"}))]
    assert found == [*(each.name for each in days(first, date(2026, 2, 28))), "2026-03"]


@pytest.mark.parametrize(
    ("day", "last"),
    [
        ("2026-11-01", "2026-11-30"),
        ("2024-02-29", "2024-02-29"),
        ("2026-02-03", "2026-02-28"),
        ("9999-12-01", "9999-12-31"),
    ],
)
def test_a_month_ends_on_its_last_day(day: str, last: str) -> None:
    assert end_of_month(date.fromisoformat(day)).isoformat() == last


def test_daily_sums_are_kept_for_400_days() -> None:
    assert kept_since(date(2026, 11, 25)) == date(2025, 10, 21)


def test_the_day_of_a_time_begins_at_midnight_utc() -> None:
    assert day_of(begin_ms(date(2026, 11, 25))) == date(2026, 11, 25)
    assert day_of(begin_ms(date(2026, 11, 25)) - 1) == date(2026, 11, 24)
