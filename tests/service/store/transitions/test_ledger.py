"""Transitions of pools, pauses and teams: their writes, and the conditions of these."""

from __future__ import annotations

import pytest

from headway_service.errors import Conflict
from headway_service.ports.table import Absent, AllEqual, Delete, Equals, Put, Update, Write
from headway_service.store import transitions
from headway_service.store.ledger import read_pools
from headway_service.store.records.capacity.ledger import CalendarRecord, PauseRecord, PoolRecord, TeamRecord
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5


def test_a_pool_changes_only_as_it_was_read() -> None:
    pool = PoolRecord(pool=P5, size=4, free=1)
    key = PoolRecord.key(P5)
    assert transitions.resize_pool(pool, 6) == [
        Update(key=key, sets={"size": 6}, adds={"free": 2}, requires=Equals("size", 4))
    ]
    (backs_off,) = transitions.back_off(pool)
    assert isinstance(backs_off, Update)
    assert backs_off.requires == Equals("pool", P5)


def test_a_pause_raises_the_number_of_each_counted_pool_that_is_still_there() -> None:
    table = MemoryTable()
    pause = PauseRecord(pool="*", by="x", reason="x", since_ms=3)
    with pytest.raises(Conflict):
        table.write(transitions.pause(pause, [P5]))
    assert table.items() == []
    with pytest.raises(Conflict):
        table.write(transitions.begin_to_count_pauses(PoolRecord(pool=P5, size=4, free=1), 9))
    table.write(transitions.add_pool(P5, 4))
    known = pool_in(table)
    assert (known.pauses, known.pauses_at(10**15)) == (None, None)
    table.write(transitions.begin_to_count_pauses(known, 9))
    begun = pool_in(table)
    assert begun.pauses is not None
    assert (begun.pauses_at(8), begun.pauses_at(9)) == (None, begun.pauses)
    table.write(transitions.pause(pause, [P5]))
    assert pool_in(table).pauses == begun.pauses + 1


def test_a_pool_that_comes_back_does_not_have_a_number_again_that_it_had() -> None:
    table = MemoryTable()
    found = []
    for from_ms in (1000, 2000):
        table.write(transitions.add_pool(P5, 0))
        table.write(transitions.begin_to_count_pauses(pool_in(table), from_ms))
        found.append(pool_in(table).pauses)
        table.write(transitions.remove_pool(pool_in(table)))
    assert found[0] != found[1]


def pool_in(table: MemoryTable) -> PoolRecord:
    (pool,) = read_pools(table)
    return pool


@pytest.mark.parametrize("stays", [False, True], ids=["nobody had paused everything", "somebody had"])
def test_a_restore_ends_once_and_an_earlier_pause_continues(stays: bool) -> None:
    pause = PauseRecord(pool="*", by="x", reason="x", since_ms=3, restored_ms=2, stays=stays)
    (write,) = transitions.end_restore(pause)
    assert not isinstance(write, Update)
    assert write.requires == AllEqual((("restoredMs", 2), ("sinceMs", 3)))
    if stays:
        assert isinstance(write, Put)
        assert (PauseRecord.parse(write.item).restored_ms, PauseRecord.parse(write.item).stays) == (None, False)
    else:
        assert isinstance(write, Delete)


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (transitions.add_team("red", None), TeamRecord(team="red").put(requires=Absent())),
        (
            transitions.add_team("red", TeamRecord(team="red", left_ms=9, starts=2)),
            TeamRecord(team="red", starts=2).put(requires=Equals("starts", 2)),
        ),
        (
            transitions.retire_team(TeamRecord(team="red", starts=2), 9),
            TeamRecord(team="red", left_ms=9, starts=2).put(requires=Equals("starts", 2)),
        ),
        (
            transitions.remove_team(TeamRecord(team="red", left_ms=9)),
            Delete(key=TeamRecord.key("red"), requires=Equals("leftMs", 9)),
        ),
    ],
    ids=["it is new", "it comes back", "it leaves", "it is forgotten"],
)
def test_a_team_is_added_and_removed_only_as_it_was_read(writes: list[Write], expected: Write) -> None:
    assert writes == [expected]


CALENDAR = CalendarRecord(pool=P5, sizes=((1, 2), (3, 0)), version=7)
PLAN = PlanRecord(pool=f"{P5}.plan.spring", arn="arn", version=7)


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (transitions.set_calendar(None, CALENDAR), [CALENDAR.put(requires=Absent())]),
        (
            transitions.set_calendar(CALENDAR, CalendarRecord(pool=P5, sizes=((1, 5),))),
            [CalendarRecord(pool=P5, sizes=((1, 5),), version=8).put(requires=Equals("version", 7))],
        ),
        (
            transitions.remove_calendar(CALENDAR),
            [Delete(key=CalendarRecord.key(P5), requires=Equals("version", 7))],
        ),
        (transitions.set_plan(None, PLAN), [PLAN.put(was=None)]),
        (
            transitions.set_plan(PLAN, PLAN.model_copy(update={"status": "Active", "version": 1})),
            [PLAN.model_copy(update={"status": "Active", "version": 8}).put(was=7)],
        ),
        (
            transitions.set_plan(PLAN, None),
            [Delete(key=PlanRecord.key(PLAN.pool), requires=Equals("version", 7))],
        ),
        (transitions.set_plan(None, None), []),
    ],
    ids=[
        *("a calendar is new", "a calendar is replaced", "a calendar goes"),
        *("a plan is new", "a plan is described again", "a plan goes", "there is and was no plan"),
    ],
)
def test_calendars_and_plans_change_only_as_they_were_read(writes: list[Write], expected: list[Write]) -> None:
    assert writes == expected


def test_the_first_plan_is_written_only_if_there_is_none() -> None:
    assert PLAN.put(was=None).requires == Absent()
    assert PLAN.put(was=7).requires == Equals("version", 7)


def test_a_pool_appears_once() -> None:
    new = PoolRecord(pool=P5, size=4, free=4).put().item
    assert transitions.add_pool(P5, 4) == [Put(item=new, requires=Absent())]
