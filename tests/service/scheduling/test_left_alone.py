"""A record that cannot be processed stops no other: it is left alone and reported, and each tick decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway_service.admission.submission import Submission
from headway_service.launching import executor
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Delete, Key, Put, Update
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import OpenArrayRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.ledger import (
    CalendarRecord,
    PauseRecord,
    PoolRecord,
    ReservationRecord,
    TeamRecord,
)
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.repository import get_job
from tests.service.world import DAY_S, P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
JOB_S = 1000

DAMAGES: dict[str, dict[str, Any]] = {
    "newer": {"schemaVersion": 99},
    "older": {"schemaVersion": -1},
    "no record": {"version": "many", "size": "many", "jobName": 7, "ending": "perhaps", "sizes": "many", "by": 7},
}
"""Attributes that keep an item from being read."""

damages = pytest.mark.parametrize("damage", DAMAGES)


@pytest.fixture
def world() -> World:
    return World(pools={P5: 4, G5: 2})


def damaged(world: World, key: Key, **attributes: Any) -> None:
    """Give attributes of a stored item other values."""
    item = world.table.get(key)
    assert item is not None
    world.table.write([Put(item={**item, **attributes})])


def attempt_key(world: World, job: str) -> Key:
    return Key(LEDGER, f"attempt#{get_job(world.table, job).live_attempt}")


def urgent(world: World, name: str = "urgent", **changes: Any) -> None:
    world.submit(name, 9, ResourceConfig=on(1, G5), **changes)


def free(world: World, pool: str = P5) -> int:
    return next(each.free for each in read_ledger(world.table).pools if each.pool == pool)


@damages
def test_what_an_attempt_holds_that_cannot_be_read_is_given_to_no_other_job(world: World, damage: str) -> None:
    world.submit("lost", ResourceConfig=on(3))
    world.tick()
    damaged(world, attempt_key(world, "lost"), **DAMAGES[damage])
    for name in ("one", "two"):
        world.submit(name, 9)
    # It waits for what the attempt holds, and keeps nobody from the rest.
    world.submit("alarge", 9, ResourceConfig=on(4))
    urgent(world)

    report = world.tick()

    assert sorted(report.started) == ["one", "urgent"]
    assert (report.rejected, report.preempted) == (0, [])
    assert report.failed == ["attempt#lost"]
    assert free(world) == 0
    assert world.fleet.in_use()[P5] == 4
    assert world.patrol() == 0, "it is no unknown training job"
    assert read_ledger(world.table).rogues == ()
    assert world.called("StopTrainingJob") == []


@pytest.mark.parametrize("demand", [None, "two", {P5: 2}])
def test_what_an_attempt_holds_is_known_by_the_counter_of_its_pool(world: World, demand: Any) -> None:
    """Whatever its own record says, or does not say."""
    world.submit("lost", ResourceConfig=on(3))
    world.tick()
    damaged(world, attempt_key(world, "lost"), schemaVersion=99, demand=demand)
    for name in ("one", "two"):
        world.submit(name, 9)
    report = world.tick()
    assert (report.started, report.rejected) == (["one"], 0)


def test_the_limit_of_a_team_counts_an_attempt_that_cannot_be_read(world: World) -> None:
    limited = {"pools": {P5: {"size": 4}}, "teams": {"red": {"limit": {P5: 2}}, "blue": {}}}
    world.configuration.write(limited)
    world.submit("lost", Tags=[{"Key": "team", "Value": "red"}])
    world.tick()
    damaged(world, attempt_key(world, "lost"), schemaVersion=99)
    for name, team in (("one", "red"), ("two", "red"), ("other", "blue")):
        world.submit(name, Tags=[{"Key": "team", "Value": team}])
    assert sorted(world.tick().started) == ["one", "other"]


def test_a_removed_team_stays_while_an_attempt_cannot_be_read(world: World) -> None:
    """It may be of this team, and its job may return to the queue of it."""
    pools = {P5: {"size": 4}}
    world.configuration.write({"pools": pools, "teams": {"red": {}}})
    world.submit("lost", Tags=[{"Key": "team", "Value": "red"}])
    world.tick()
    damaged(world, attempt_key(world, "lost"), schemaVersion=99)
    for size in (5, 6):
        pools = {P5: {"size": size}}
        world.configuration.write({"pools": pools})
        world.tick()
        world.now_s += 2 * DAY_S
    assert [each.team for each in read_ledger(world.table).teams] == ["red"]


@damages
def test_a_team_whose_record_cannot_be_read_stops_no_other(world: World, damage: str) -> None:
    teams: dict[str, Any] = {"blue": {}, "red": {"limit": {P5: 2}}}
    world.configuration.write({"pools": {P5: {"size": 4}}, "teams": teams})
    for team in teams:
        world.submit(team, Tags=[{"Key": "team", "Value": team}])
    damaged(world, TeamRecord.key("red"), **DAMAGES[damage], team=7)
    report = world.tick()
    assert (report.started, report.failed, report.rejected) == (["blue"], ["team#red"], 0)
    world.configuration.write({"pools": {P5: {"size": 5}}, "teams": {**teams, "white": {}}})
    world.tick()
    world.submit("white", Tags=[{"Key": "team", "Value": "white"}])
    assert world.tick().started == ["white"]


def test_no_instance_is_kept_when_the_pool_says_that_all_are_free(world: World) -> None:
    """A record that is left over, such as by a restore, holds nothing."""
    world.table.write([Put(item={"pk": LEDGER, "sk": "attempt#gone", "demand": {P5: 4}, "schemaVersion": 99})])
    for index in range(4):
        world.submit(f"job-{index}")
    assert len(world.tick().started) == 4


@damages
def test_a_reservation_that_cannot_be_read_keeps_its_instances(world: World, damage: str) -> None:
    world.submit("owner", 1)
    world.table.write([ReservationRecord(job_name="elsewhere", demand={P5: 3}).put(was=None)])
    world.table.write([Update(key=PoolRecord.key(P5), adds={"free": -3})])
    damaged(world, ReservationRecord.key("elsewhere"), **DAMAGES[damage])
    world.submit("two", ResourceConfig=on(2))
    report = world.tick()
    assert (report.started, report.released, report.rejected) == (["owner"], [], 0)


@damages
def test_a_pool_whose_record_cannot_be_read_stops_no_other(world: World, damage: str) -> None:
    world.submit("runs")
    world.tick()
    damaged(world, PoolRecord.key(P5), **DAMAGES[damage])
    world.submit("waits", 9)
    urgent(world)
    report = world.tick()
    assert (report.started, report.failed) == (["urgent"], [f"pool#{P5}"])
    # Another configuration is applied to the other pools.
    world.configuration.write({"pools": {P5: {"size": 8}, G5: {"size": 3}}})
    world.tick()
    assert [each.size for each in read_ledger(world.table).pools] == [3]


@damages
@pytest.mark.parametrize("pool", [P5, PauseRecord.EVERYTHING])
def test_a_pool_with_a_pause_that_cannot_be_read_is_paused(world: World, damage: str, pool: str) -> None:
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    pauses.pause(pool, "user/ada", "maintenance", stops=False)
    damaged(world, PauseRecord.key(pool), **DAMAGES[damage])
    world.submit("waits", 9)
    urgent(world)
    report = world.tick()
    assert (report.started, report.rejected) == (["urgent"] if pool == P5 else [], 0)
    assert "cannot be read" in world.seen("waits").reason.message


@damages
def test_a_pool_with_a_calendar_that_cannot_be_read_starts_nothing(world: World, damage: str) -> None:
    """Its later sizes are not known, and other code may know them, so the calendar is not replaced."""
    schedule = [{"days": ["fri"], "from": "18:00", "to": "24:00", "size": 1}]
    world.configuration.write({"pools": {P5: {"size": 4, "schedule": schedule}, G5: {"size": 2}}})
    world.tick()
    damaged(world, CalendarRecord.key(P5), **DAMAGES[damage])
    before = world.table.get(CalendarRecord.key(P5))
    world.submit("waits", 9)
    urgent(world)
    report = world.tick()
    assert (report.started, report.rejected, report.failed) == (["urgent"], 0, [f"calendar#{P5}"])
    assert world.table.get(CalendarRecord.key(P5)) == before


@damages
def test_a_queue_entry_that_cannot_be_read_is_passed_over(world: World, damage: str) -> None:
    world.submit("broken", 9, ResourceConfig=on(4))
    (entry,) = world.table.query(QueueEntry.partition(P5), limit=9)
    damaged(world, Key(entry["pk"], entry["sk"]), **DAMAGES[damage])
    for index in range(12):
        world.submit(f"job-{index:02}", 5)
    report = world.tick()
    assert report.started == ["job-00", "job-01", "job-02", "job-03"]
    assert len(report.failed) == 1
    assert "broken" in report.failed[0]


def test_many_queue_entries_that_cannot_be_read_hide_nobody_even_with_ageing(world: World) -> None:
    world.configuration.write({"pools": {P5: {"size": 4}}, "ageing": {"intervalSeconds": 3600, "cap": 7}})
    for index in range(30):
        world.submit(f"broken-{index:02}", 9)
    world.submit("last", 9)
    world.submit("low", 1)
    for entry in world.table.query(QueueEntry.partition(P5), limit=30):
        damaged(world, Key(entry["pk"], entry["sk"]), schemaVersion=99)
    assert world.tick().started == ["last", "low"]


@damages
def test_a_job_whose_record_cannot_be_read_keeps_nobody_from_its_instances(world: World, damage: str) -> None:
    """Its entry in the queue is as it was, so the decision is to start it."""
    world.submit("broken", 9, ResourceConfig=on(4))
    damaged(world, JobRecord.key("broken"), **DAMAGES[damage])
    for index in range(5):
        world.submit(f"job-{index}", 5)
    report = world.tick()
    assert report.started == ["job-0", "job-1", "job-2", "job-3"]
    assert report.failed == ["broken"]


def test_a_job_that_left_its_entry_in_the_queue_keeps_nobody_from_its_instances(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "MAX_REJECTIONS", 3)
    world.submit("ended", 9, ResourceConfig=on(4))
    (entry,) = world.table.query(QueueEntry.partition(P5), limit=9)
    world.commands.stop("ended", ROOT)
    world.table.write([Put(item=entry)])
    world.submit("next", 5)
    report = world.tick()
    assert (report.started, report.rejected, report.failed) == (["next"], 3, ["ended"])


@pytest.mark.parametrize("how", ["missing", "no JSON", "newer"])
def test_a_request_that_cannot_be_read_lets_no_pool_back_off(world: World, how: str) -> None:
    world.submit("broken", 9)
    if how == "missing":
        world.table.write([Delete(key=request_key("broken"))])
    else:
        damaged(world, request_key("broken"), **({"schemaVersion": 99} if how == "newer" else {"jobDetails": "{"}))
    world.submit("next", 5)
    report = world.tick()
    assert "next" in report.started
    assert world.called("CreateTrainingJob") == [get_job(world.table, "next").live_attempt]
    assert [each.backoffs for each in read_ledger(world.table).pools] == [0, 0]
    assert [get_job(world.table, name).job_state for name in ("broken", "next")] == ["pending", "running"]
    assert "request" in get_job(world.table, "broken").reason.message
    world.check()


@damages
@pytest.mark.parametrize("about", ["the end", "the job", "the first", "the outputs"])
def test_dependants_are_notified_each_by_itself(world: World, damage: str, about: str) -> None:
    world.submit("before")
    for name in ("first", "second"):
        world.submitter.submit(Submission(request=request(name), depends_on=[{"job": "before"}]), ROOT)
    world.tick()
    world.pass_time(JOB_S, tick=False)
    keys = {
        "the end": EndedJobRecord.key("before"),
        "the job": JobRecord.key("before"),
        "the first": JobRecord.key("first"),
        "the outputs": request_key("before"),
    }
    damaged(world, keys[about], **DAMAGES[damage])
    urgent(world)
    started, failed = [], []
    for _ in range(2):
        report = world.tick()
        started += report.started
        failed += report.failed
        assert report.decisions > 0
    expected = {
        "the end": {"urgent"},
        "the job": {"urgent", "first", "second"},
        "the first": {"urgent", "second"},
        "the outputs": {"urgent", "first", "second"},
    }
    assert set(started) == expected[about]
    assert bool(failed) is (about in {"the end", "the first"})
    # What could not be done stays to be done.
    left = world.table.get(EndedJobRecord.key("before"))
    assert (left is not None) is (about in {"the end", "the first"})


def test_members_that_have_ended_are_kept_for_an_array_whose_entry_cannot_be_read(world: World) -> None:
    grid = {"list": [{"seed": each} for each in range(2)]}
    world.submitter.submit(Submission(request=request("array"), sweep=grid), ROOT)
    world.tick()
    item = world.table.get(OpenArrayRecord.key("array"))
    assert item is not None
    damaged(world, OpenArrayRecord.key("array"), schemaVersion=99)
    world.pass_time(JOB_S)
    assert world.tick().failed == ["array#array"]
    world.table.write([Put(item=item)])
    world.tick()
    numbers = get_job(world.table, "array").array
    assert numbers is not None
    assert numbers.completed == 2


def test_a_drained_attempt_whose_job_cannot_be_read_stops_no_other(world: World) -> None:
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    for name in ("broken", "other"):
        world.submit(name)
    world.tick()
    damaged(world, JobRecord.key("broken"), schemaVersion=99)
    pauses.pause(P5, "user/ada", "move out", stops=True)
    urgent(world)
    report = world.tick()
    assert (report.drained, report.started) == (["other"], ["urgent"])
    assert report.failed == [get_live(world, "broken")]


def get_live(world: World, job: str) -> str:
    return next(each.attempt_name for each in read_ledger(world.table).attempts if each.job_name == job)


def test_a_decision_is_made_in_a_tick_in_which_a_chore_conflicts_each_time(world: World) -> None:
    """A drained attempt whose job is gone conflicts for ever."""
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    world.submit("gone")
    world.tick()
    world.table.write([Delete(key=JobRecord.key("gone"))])
    pauses.pause(P5, "user/ada", "move out", stops=True)
    urgent(world)
    report = world.tick()
    assert (report.started, report.rejected, report.failed) == (["urgent"], 3, [get_live(world, "gone")])


@pytest.mark.parametrize("read", [World.reconcile, World.patrol])
def test_the_runs_of_each_minute_go_on_beside_damaged_records(world: World, read: Callable[[World], int]) -> None:
    for name in ("broken", "other"):
        world.submit(name)
    world.tick()
    damaged(world, attempt_key(world, "broken"), schemaVersion=99)
    world.pass_time(JOB_S, deliver=False)
    read(world)
    assert world.states("other")["other"] == ("completed" if read is World.reconcile else "running")
