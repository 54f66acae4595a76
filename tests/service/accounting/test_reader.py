"""Sums of a range: whole months where possible, the same figures whichever items they are read from."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.prices import Price, Prices
from headway.days import DAY_MS, begin_ms
from headway_service.accounting import reader
from headway_service.accounting.reader import MAX_RANGE_DAYS, MAX_SHOWN_DAYS, MAX_SHOWN_MONTHS, Step, read_usage
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Item
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import HOUR_MS, accountant, attempt, job
from tests.service.world import P5

FIRST = date(2026, 1, 1)
DAYS = 120


def filled() -> MemoryTable:
    """One job of each of two teams ends on each day; each runs over midnight."""
    table = MemoryTable()
    jobs = [
        job(
            f"{team}{day}",
            [attempt(1, since_ms=begin_ms(FIRST) + day * DAY_MS - HOUR_MS, length_ms=2 * HOUR_MS)],
            team=team,
        )
        for day in range(DAYS)
        for team in ("red", "")
    ]
    for begin in range(0, len(jobs), 20):
        accountant(table).account(jobs[begin : begin + 20])
    return table


TABLE = filled()


@given(st.integers(0, DAYS - 1), st.integers(0, 61))
def test_the_total_of_a_range_is_the_sum_of_its_days(begin: int, length: int) -> None:
    first = FIRST + timedelta(days=begin)
    last = first + timedelta(days=length)
    total = {row.name: row.figures for row in read_usage(TABLE, "team", first, last, Step.TOTAL)}
    summed: dict[str, Counter[str]] = {}
    for row in read_usage(TABLE, "team", first, last, Step.DAY):
        summed.setdefault(row.name, Counter()).update(row.figures)
        assert first.isoformat() <= row.period <= last.isoformat()
    assert total == summed
    ended = min(length + 1, DAYS - begin)
    assert total["red"]["jobs.completed"] == total[""]["jobs.completed"] == ended


def test_months_are_shown_one_by_one_and_may_be_parts() -> None:
    rows = read_usage(TABLE, "team", date(2026, 1, 30), date(2026, 3, 2), Step.MONTH)
    found = [(row.period, row.name, row.figures["jobs.completed"]) for row in rows]
    jobs = {"2026-01": 2, "2026-02": 28, "2026-03": 2}
    assert found == [(month, name, count) for month, count in jobs.items() for name in ("", "red")]


class Counting(MemoryTable):
    queries = 0

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        self.queries += 1
        return ()


def test_a_year_is_read_by_months() -> None:
    table = Counting()
    read_usage(table, "team", date(2026, 1, 1), date(2026, 12, 31), Step.TOTAL)
    assert table.queries == 12


@pytest.mark.parametrize(
    ("days", "step", "accepted"),
    [
        (0, Step.TOTAL, False),
        (1, Step.TOTAL, True),
        (MAX_RANGE_DAYS, Step.TOTAL, True),
        (MAX_RANGE_DAYS + 1, Step.TOTAL, False),
        (MAX_SHOWN_DAYS, Step.DAY, True),
        (MAX_SHOWN_DAYS + 1, Step.DAY, False),
        (MAX_SHOWN_MONTHS * 31, Step.MONTH, True),
        (MAX_SHOWN_MONTHS * 31 + 1, Step.MONTH, False),
    ],
)
def test_a_range_is_neither_empty_nor_longer_than_its_limit(days: int, step: Step, accepted: bool) -> None:
    last = FIRST + timedelta(days=days - 1)
    if accepted:
        assert read_usage(Counting(), "team", FIRST, last, step) == []
    else:
        with pytest.raises(InvalidRequest, match="range"):
            read_usage(Counting(), "team", FIRST, last, step)


def test_an_answer_has_a_limited_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_ROWS", 3)
    with pytest.raises(InvalidRequest, match="more than 3 rows"):
        read_usage(TABLE, "team", FIRST, FIRST + timedelta(days=2), Step.DAY)
    assert len(read_usage(TABLE, "team", FIRST, FIRST + timedelta(days=2), Step.TOTAL)) == 2


def test_a_month_is_read_by_days_if_its_price_changes_and_these_are_kept() -> None:
    february = frozenset({"2026-02"})
    first, last = date(2026, 1, 1), date(2026, 3, 31)
    (row,) = [each for each in read_usage(TABLE, "team", first, last, Step.TOTAL, by_days=february) if each.name]
    assert len(row.parts) == 28 + 2
    whole = [each for each in read_usage(TABLE, "team", first, last, Step.TOTAL) if each.name]
    assert row.figures == whole[0].figures
    kept = date(2026, 2, 2)
    found = read_usage(TABLE, "team", first, last, Step.TOTAL, by_days=february, kept_since=kept)
    assert [len(each.parts) for each in found] == [3, 3]


def test_what_was_lost_costs_its_part_of_each_attempt_at_the_prices_of_each_day_and_of_each_kind_of_instances() -> None:
    # Both are in the pool of on-demand instances: half of the spot attempt's time is billed, and half of that is lost.
    spot = attempt(1, since_ms=begin_ms(FIRST), preempted=True)
    spot = spot.model_copy(update={"spot": True, "billable_s": HOUR_MS // 2000})
    later = begin_ms(FIRST) + DAY_MS
    whole = attempt(1, since_ms=later).model_copy(update={"lost_ms": HOUR_MS})
    table = MemoryTable()
    accountant(table).account([job("a", [spot]), job("b", [whole]), job("c", [attempt(1, since_ms=later)])])
    listed = (Price(first=FIRST, on_demand=10.0), Price(first=FIRST + timedelta(days=1), on_demand=20.0))
    prices = Prices(by_type={P5: listed})
    by_days = prices.changing_months()
    (row,) = read_usage(table, "team", FIRST, date(2026, 1, 31), Step.TOTAL, by_days=by_days)
    assert row.cost(prices).amount == 2 * 0.5 * 10.0 + 2 * (20.0 + 20.0)
    lost = row.lost_cost(prices)
    assert lost.amount == 2 * 0.25 * 10.0 + 2 * 20.0
    assert lost.unpriced_ms == {}


def test_what_was_lost_of_spot_instances_whose_billable_time_is_not_known_is_listed_without_a_cost() -> None:
    spot = attempt(1, since_ms=begin_ms(FIRST), preempted=True).model_copy(update={"spot": True})
    table = MemoryTable()
    accountant(table).account([job("a", [spot]), job("b", [attempt(1, since_ms=begin_ms(FIRST))])])
    prices = Prices(by_type={P5: (Price(first=FIRST, on_demand=10.0),)})
    (row,) = read_usage(table, "team", FIRST, FIRST, Step.TOTAL)
    assert row.cost(prices).amount == 20.0
    lost = row.lost_cost(prices)
    assert (lost.amount, lost.unpriced_ms) == (None, {f"{P5}.spot": HOUR_MS})


def test_what_spot_saved_has_the_price_on_demand_and_what_is_not_known_yet_an_estimate() -> None:
    # AWS's example: of 500 s of training 100 s are billed.
    known = {"spot": True, "billable_s": 100, "trained_s": 500}
    ended = attempt(1, since_ms=begin_ms(FIRST)).model_copy(update=known)
    unknown = attempt(1, since_ms=begin_ms(FIRST)).model_copy(update={"spot": True})
    table = MemoryTable()
    accountant(table).account([job("a", [ended]), job("b", [unknown])])
    prices = Prices(by_type={P5: (Price(first=FIRST, on_demand=36.0, spot=9.0),)})
    (row,) = read_usage(table, "team", FIRST, FIRST, Step.TOTAL)
    assert (row.cost(prices).amount, row.saved_cost(prices).amount) == (2 * 1.0, 2 * 4.0)
    assert row.estimated_cost(prices).amount == 2 * 9.0
    assert row.cost(prices).unpriced_ms == {f"{P5}.spot": 2 * HOUR_MS}


@pytest.mark.parametrize(("first", "step"), [(date(2026, 1, 2), Step.TOTAL), (date(2026, 2, 1), Step.DAY)])
def test_days_that_are_not_kept_any_more_are_refused_rather_than_missing(first: date, step: Step) -> None:
    with pytest.raises(InvalidRequest, match="kept since 2026-02-02"):
        read_usage(TABLE, "team", first, date(2026, 2, 28), step, kept_since=date(2026, 2, 2))
    read_usage(TABLE, "team", date(2026, 1, 1), date(2026, 2, 28), Step.MONTH, kept_since=date(2026, 2, 2))
