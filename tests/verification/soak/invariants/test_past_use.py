"""The check of past use finds an end that counts twice or not at all, and an average that is another."""

from __future__ import annotations

import pytest

from headway_service.ports.table import Delete, Key, Put, Write
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.past_use import PastUseRecord, TeamAverage
from headway_service.store.records.capacity.used import UsedRecord
from headway_verification.soak.invariants.past_use import PastUseWatchedTable
from headway_verification.soak.violations import Violated

P5 = "ml.p5.48xlarge"
DAY_MS = 86_400_000
SPAN = UsedRecord(attempt_name="x", team="a", demand={P5: 2}, since_ms=10 * DAY_MS, ended_ms=11 * DAY_MS)
ATTEMPT = Key(LEDGER, "attempt#x")
NEW = PastUseRecord(at_ms=10 * DAY_MS, half_life_ms=DAY_MS, teams={"a": TeamAverage(since_ms=0)})
NOW_MS = 12 * DAY_MS


def end() -> list[Write]:
    return [Delete(key=ATTEMPT), SPAN.put()]


def known(table: PastUseWatchedTable) -> PastUseRecord:
    item = table.get(PastUseRecord.key())
    assert item is not None
    return PastUseRecord.parse(item)


def added(table: PastUseWatchedTable, *, times: int = 1) -> Put:
    return known(table).with_spans(NOW_MS, [SPAN.span()] * times, ["a"]).put()


def watched() -> PastUseWatchedTable:
    """A table in which one attempt has ended."""
    table = PastUseWatchedTable()
    table.write([NEW.put(), Put(item={"pk": ATTEMPT.pk, "sk": ATTEMPT.sk})])
    table.write(end())
    return table


def test_an_end_that_is_added_once_is_as_documented() -> None:
    table = watched()
    table.write([SPAN.removal(), added(table)])
    table.check_past_use()
    # Two instances for a day, the day before yesterday of a half-life of a day.
    assert known(table).teams["a"].average == {P5: 500_000}


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("it is added twice", "on average, not"),
        ("it is not added", "on average, not"),
        ("it is removed only", "removed without being added"),
        ("it is put again", "twice"),
        ("it counts while it runs", "without its end"),
    ],
)
def test_the_check_finds(what: str, says: str) -> None:
    table = watched()
    match what:
        case "it is added twice":
            table.write([SPAN.removal(), added(table, times=2)])
        case "it is not added":
            table.write([SPAN.removal(), added(table, times=0)])
        case "it is removed only":
            table.write([SPAN.removal()])
        case "it is put again":
            table.write(end())
        case _:
            table.write([SPAN.model_copy(update={"attempt_name": "y"}).put()])
    with pytest.raises(Violated, match=says):
        table.check_past_use()


def test_where_past_use_counts_no_more_all_of_it_is_removed() -> None:
    table = watched()
    table.write([SPAN.removal(), Delete(key=PastUseRecord.key())])
    table.check_past_use()
