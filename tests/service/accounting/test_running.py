"""Running attempts in the usage: what they have used until now, as it will be in the sums, and never in both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.prices import Price, Prices
from headway.days import DAY_MS, begin_ms
from headway.lifecycle import AttemptState, JobState
from headway_service.accounting import running as running_module
from headway_service.accounting.reader import Step, UsageRow, read_usage_until
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Item, Key, Put
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import EndedAttempt, request_item
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import DAY, G5, HOUR_MS, accountant, attempt, job
from tests.service.world import P5

FIRST, LAST = DAY - timedelta(days=40), DAY + timedelta(days=40)


def holds(ended: EndedAttempt, name: str = "a", team: str = "red", **changes: object) -> AttemptRecord:
    """The attempt while it holds instances."""
    fields: dict[str, object] = {
        "attempt_name": f"{name}-{ended.number}",
        "job_name": name,
        "number": ended.number,
        "attempt_state": AttemptState.LIVE,
        "mark": "m",
        "demand": ended.demand,
        "priority": 0,
        "team": team,
        "entry_time": ended.since_ms,
        "since_ms": ended.since_ms,
        "lease_holder": "",
        "lease_until_ms": 0,
        "seen_ms": 0,
    }
    return AttemptRecord.model_validate({**fields, **changes})


def usage(
    table: MemoryTable,
    by: str,
    now_ms: int,
    *,
    step: Step = Step.TOTAL,
    first: date = FIRST,
    last: date = LAST,
    tags: Sequence[str] = (),
) -> list[UsageRow]:
    return read_usage_until(
        table,
        by,
        first,
        last,
        step,
        by_days=frozenset(),
        kept_since=date.min,
        now_ms=now_ms,
        tags=lambda: tags,
    )


def used(rows: Sequence[UsageRow]) -> dict[tuple[str, str], dict[str, int]]:
    """The time that ended attempts have used, by row."""
    found = {}
    for row in rows:
        times = {name.removeprefix("used."): ms for name, ms in row.figures.items() if name.startswith("used.")}
        found[row.period, row.name] = times
    return found


def running(rows: Sequence[UsageRow]) -> dict[tuple[str, str], dict[str, int]]:
    """The time that running attempts have used, by row."""
    return {(row.period, row.name): dict(row.running.used_ms) for row in rows if row.running.attempts}


@given(
    st.integers(-30 * 24, 40),
    st.integers(1, 35 * 24),
    st.sampled_from(["team", "owner", "pool", "tag:project"]),
    st.sampled_from([Step.TOTAL, Step.MONTH]),
    st.booleans(),
)
def test_a_running_attempt_has_what_the_sums_will_have_if_it_ends_now(
    begin_h: int, length_h: int, by: str, step: Step, two_pools: bool
) -> None:
    since_ms = begin_ms(DAY) + begin_h * HOUR_MS + 1234
    demand = {P5: 2, G5: 1} if two_pools else {P5: 2}
    ended = attempt(1, since_ms=since_ms, length_ms=length_h * HOUR_MS).model_copy(update={"demand": demand})
    details = request_item("a", json.dumps({"Tags": [{"Key": "project", "Value": "llm"}]}))
    live, over = MemoryTable(), MemoryTable()
    started = job("a", ended=False, demand=demand)
    live.write([Put(item=details), started.put(), holds(ended).put()])
    over.write([Put(item=details)])
    accountant(over, "project").account([job("a", [ended], demand=demand)])
    now_ms = ended.ended_ms
    assert running(usage(live, by, now_ms, step=step, tags=["project"])) == used(usage(over, by, now_ms, step=step))


def test_the_days_of_a_running_attempt_are_split_at_midnight_and_limited_to_the_range() -> None:
    table = MemoryTable()
    ended = attempt(1, since_ms=begin_ms(DAY) - HOUR_MS)
    table.write([holds(ended).put(), job("a", ended=False).put()])
    now_ms = begin_ms(DAY) + DAY_MS + 3 * HOUR_MS
    rows = usage(table, "team", now_ms, step=Step.DAY, first=DAY, last=DAY + timedelta(days=5))
    times = {("2026-11-25", "red"): {P5: 2 * DAY_MS}, ("2026-11-26", "red"): {P5: 6 * HOUR_MS}}
    assert running(rows) == times
    assert [row.running.attempts for row in rows] == [1, 1]
    (whole,) = usage(table, "team", now_ms)
    assert whole.running.attempts == 1
    assert usage(table, "team", now_ms, first=DAY + timedelta(days=2)) == []


@pytest.mark.parametrize(("spot", "amount"), [(True, 2 * 4.0 + 2 * 2 * 5.0), (False, None)], ids=["spot", "on demand"])
def test_running_spot_instances_have_an_estimate_by_the_price_of_each_day(spot: bool, amount: float | None) -> None:
    table = MemoryTable()
    table.write([holds(attempt(1, since_ms=begin_ms(DAY) - HOUR_MS), spot=spot).put()])
    before = Price(first=DAY - timedelta(days=1), on_demand=9.0, spot=4.0)
    listed = (before, Price(first=DAY, on_demand=9.0, spot=5.0))
    (row,) = usage(table, "team", begin_ms(DAY) + 2 * HOUR_MS)
    assert row.estimated_cost(Prices(by_type={P5: listed})).amount == amount
    assert row.cost(Prices(by_type={P5: listed})).amount is None


def test_names_that_have_only_running_attempts_have_a_row_beside_the_others() -> None:
    table = MemoryTable()
    accountant(table).account([job("b", [attempt(1)], team="blue")])
    now_ms = attempt(1).ended_ms
    for name, team in (("a", "red"), ("c", "blue"), ("d", "blue")):
        table.write([holds(attempt(1), name, team).put(), job(name, ended=False, team=team).put()])
    rows = {row.name: row for row in usage(table, "team", now_ms)}
    assert {name: row.running.attempts for name, row in rows.items()} == {"blue": 2, "red": 1}
    assert rows["blue"].figures["attempts"] == 1
    assert rows["red"].figures == {}


@pytest.mark.parametrize(("state", "counted"), [(AttemptState.LAUNCHING, 0), (AttemptState.STOPPING, 1)])
def test_an_attempt_counts_from_its_launch_until_it_has_stopped(state: AttemptState, counted: int) -> None:
    table = MemoryTable()
    table.write([holds(attempt(1), attempt_state=state).put()])
    rows = usage(table, "team", attempt(1).ended_ms)
    assert sum(row.running.attempts for row in rows) == counted


def test_a_tag_that_the_policy_does_not_name_is_refused_also_while_attempts_run() -> None:
    table = MemoryTable()
    table.write([holds(attempt(1)).put(), job("a", ended=False).put()])
    with pytest.raises(InvalidRequest, match="is not counted by the tag `project`"):
        usage(table, "tag:project", attempt(1).ended_ms)


def test_the_requests_that_are_read_for_a_tag_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_module, "MAX_TAGGED", 1)
    table = MemoryTable()
    for name in "abc":
        table.write([holds(attempt(1), name).put(), Put(item=request_item(name, "{}"))])
    rows = usage(table, "tag:project", attempt(1).ended_ms, tags=["project"])
    assert {row.name: row.running.attempts for row in rows} == {"": 1, "(other)": 2}


def test_the_owner_of_a_job_that_an_eventually_consistent_read_lacks_is_read_again() -> None:
    class Late(MemoryTable):
        def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
            return ()

    table = Late()
    table.write([holds(attempt(1)).put(), job("a", ended=False, job_state=JobState.RUNNING).put()])
    (row,) = usage(table, "owner", attempt(1).ended_ms)
    assert (row.name, row.running.attempts) == ("ada", 1)


@pytest.mark.parametrize("at_ledger", [True, False])
def test_an_attempt_that_ends_while_usage_is_read_is_never_counted_twice(at_ledger: bool) -> None:
    ended = attempt(1)

    class Ending(MemoryTable):
        """A table in which the attempt ends, and is accounted for, before or after the first query of one kind."""

        armed = False

        def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
            found = super().query(pk, prefix=prefix, after=after, limit=limit)
            if self.armed and (pk == LEDGER) is at_ledger:
                self.armed = False
                self.write([holds(ended).delete()])
                accountant(self).account([job("a", [ended])])
            return found

    table = Ending()
    table.write([holds(ended).put(), job("a", ended=False).put()])
    table.armed = True
    rows = usage(table, "pool", ended.ended_ms)
    both = [times.get(P5, 0) for found in (used(rows), running(rows)) for times in found.values()]
    assert not table.armed
    assert sum(both) in {0, 2 * HOUR_MS}
    assert sum(time > 0 for time in both) <= 1
