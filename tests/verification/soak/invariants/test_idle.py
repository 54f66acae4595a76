"""The check of idle time finds what is counted twice, and what no pass has found idle."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from headway.accounting.idle import MAX_GAP_S
from headway.days import Period
from headway_service.accounting.records import IDLE, add_figures
from headway_service.ports.table import Write
from headway_service.store.records.capacity.idle import IdleRecord
from headway_verification.soak.invariants.idle import IdleWatchedTable
from headway_verification.soak.violations import Violated

P5 = "ml.p5.48xlarge"
DAY = date(2026, 11, 25)
MINUTE_MS = 60_000


def idle(since_ms: int, count: int = 2) -> IdleRecord:
    return IdleRecord(pool=P5, count=count, since_ms=since_ms, noted_ms=since_ms)


def closed(since_ms: int, was: int = 1) -> Write:
    """The write after which nothing is idle."""
    return idle(since_ms, count=0).model_copy(update={"version": was + 1}).put(was=was)


def counted(instance_ms: int, *, of_day: int | None = None) -> list[Write]:
    day = Period(month="2026-11", day=DAY)
    parts = {Period(month="2026-11"): instance_ms, day: instance_ms if of_day is None else of_day}
    return [add_figures("pool", period, P5, {f"{IDLE}{P5}": value}) for period, value in parts.items()]


def watched() -> IdleWatchedTable:
    """A table in which two instances are idle since 0."""
    table = IdleWatchedTable()
    table.write([idle(0).put(was=None)])
    return table


def test_time_that_is_counted_up_to_the_next_item_is_right() -> None:
    table = watched()
    table.write([idle(MINUTE_MS).put(was=1), *counted(2 * MINUTE_MS)])
    table.write([closed(10 * MINUTE_MS), *counted(2 * 9 * MINUTE_MS)])
    table.write([idle(11 * MINUTE_MS).put(was=2)])
    table.write([closed(12 * MINUTE_MS)])
    table.check_idle()


@pytest.mark.parametrize(
    ("writes", "problem"),
    [
        (counted(2 * MINUTE_MS), "no pass has found"),
        ([idle(MINUTE_MS).put(was=1), *counted(2 * MINUTE_MS, of_day=MINUTE_MS)], "added to months"),
        ([idle(MINUTE_MS).put(was=1), *counted(2 * MINUTE_MS + 2)], "the next begins"),
        ([idle(MINUTE_MS).put(was=1), *counted(2 * MINUTE_MS + 1)], "of 2 instances"),
        ([closed(0), *counted(2 * (MAX_GAP_S * 1000 + MINUTE_MS))], "of 2 instances"),
    ],
)
def test_time_that_does_not_follow_from_the_item_is_wrong(writes: list[Any], problem: str) -> None:
    table = watched()
    table.write(writes)
    with pytest.raises(Violated, match=problem):
        table.check_idle()


def test_time_in_which_nothing_was_idle_is_not_counted() -> None:
    table = watched()
    table.write([closed(MINUTE_MS), *counted(2 * MINUTE_MS)])
    table.write([idle(2 * MINUTE_MS).put(was=2), *counted(2 * MINUTE_MS)])
    with pytest.raises(Violated, match="no pass has found"):
        table.check_idle()


def test_a_moment_that_is_counted_twice_is_found() -> None:
    table = watched()
    table.write([closed(MINUTE_MS), *counted(2 * MINUTE_MS)])
    table.write([idle(MINUTE_MS // 2).put(was=2)])
    table.write([closed(3 * MINUTE_MS // 2), *counted(2 * MINUTE_MS)])
    with pytest.raises(Violated, match="was until"):
        table.check_idle()
