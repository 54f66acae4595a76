"""The lines are bounded, for a team and for an owner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.errors import QueueFull
from headway_service.jobs.position import JobView
from headway_service.pools.apply_config import apply_configuration
from headway_service.ports.table import Delete, Key, Put
from headway_service.store.queue_tail import MAX_TAIL
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.repository import get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, ROOT, World, on, request

CEM, DAN = replace(ADA, arn=f"{ADA.arn}-cem"), replace(ADA, arn=f"{ADA.arn}-dan")
G5 = "ml.g5.xlarge"
TEAMS: dict[str, Any] = {"research": {}, "products": {}}


@pytest.fixture
def world() -> World:
    """Of a team four jobs may wait for a pool, and two of these may be of one owner."""
    world = World(pools={P5: 4, G5: 4})
    configure(world)
    return world


def configure(world: World, **more: Any) -> None:
    pools = {P5: {"size": 4}, G5: {"size": 4}}
    limits = {"waitingPerTeam": 4, "waitingPerOwner": 2}
    world.configuration.write({"pools": pools, "limits": limits, **more})


def submit(world: World, name: str, owner: Caller, **changes: Any) -> JobRecord:
    return world.submitter.submit(request(name, **changes), owner)[0].job


def of_team(team: str) -> dict[str, Any]:
    return {"Tags": [{"Key": "team", "Value": team}]}


def refused(world: World, name: str, owner: Caller, **changes: Any) -> str:
    with pytest.raises(QueueFull) as refusal:
        submit(world, name, owner, **changes)
    assert world.table.get(JobRecord.key(name)) is None
    return str(refusal.value)


def test_the_waiting_jobs_of_an_owner_are_limited_independent_of_others(world: World) -> None:
    for name in ("a1", "a2"):
        submit(world, name, ADA)
    assert refused(world, "a3", ADA) == (
        f"2 of your jobs wait for {P5}, and 2 may (limits.waitingPerOwner): try again when some have started, stop "
        "some that are not needed, or have the limit raised"
    )
    submit(world, "b1", BOB)


def test_a_queue_is_limited_for_all_submitters(world: World) -> None:
    for i, owner in enumerate((ADA, BOB, CEM, DAN)):
        submit(world, f"j{i}", owner)
    assert refused(world, "late", BOB).startswith(f"4 jobs wait for {P5}, and 4 may (limits.waitingPerTeam)")


def test_each_pool_and_each_team_has_a_separate_queue(world: World) -> None:
    configure(world, teams=TEAMS)
    for name in ("r1", "r2"):
        submit(world, name, ADA, **of_team("research"))
    assert "2 of your jobs of the team research wait" in refused(world, "r3", ADA, **of_team("research"))
    submit(world, "p1", ADA, **of_team("products"))
    submit(world, "g1", ADA, ResourceConfig=on(1, G5), **of_team("research"))


def test_a_job_on_several_pools_needs_room_in_each_queue(world: World) -> None:
    for name in ("g1", "g2"):
        submit(world, name, ADA, ResourceConfig=on(1, G5))
    groups = [{"InstanceGroupName": pool, "InstanceType": pool, "InstanceCount": 1} for pool in (P5, G5)]
    assert G5 in refused(world, "both", ADA, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 1})


@pytest.mark.parametrize("leave", ["start", "stop", "hold"])
def test_a_queue_has_room_again_when_jobs_have_left(world: World, leave: str) -> None:
    for name in ("a1", "a2"):
        submit(world, name, ADA)
    refused(world, "a3", ADA)
    {
        "start": world.tick,
        "stop": lambda: world.commands.stop("a1", ROOT),
        "hold": lambda: world.commands.hold("a1", ADA),
    }[leave]()
    submit(world, "a3", ADA)


def test_a_held_job_is_released_only_if_its_queue_has_room(world: World) -> None:
    submit(world, "a1", ADA)
    world.commands.hold("a1", ADA)
    for name in ("a2", "a3"):
        submit(world, name, ADA)
    with pytest.raises(QueueFull):
        world.commands.release("a1", ADA)
    assert get_job(world.table, "a1").held
    world.commands.stop("a2", ROOT)
    assert not world.commands.release("a1", ADA).job.held


ARRAY = 5


@pytest.mark.parametrize("at_once", [None, 1], ids=["all its members are made", "most members are not made"])
@pytest.mark.parametrize(
    ("limit", "jobs", "fits"),
    [
        ("waitingPerTeam", 0, True),
        ("waitingPerTeam", 1, False),
        ("waitingPerOwner", 0, True),
        ("waitingPerOwner", 1, False),
    ],
    ids=["alone", "beside another job", "alone, by owner", "beside another job, by owner"],
)
def test_a_held_array_is_released_only_if_its_queue_has_room_for_its_waiting_members(
    world: World, limit: str, jobs: int, at_once: int | None, *, fits: bool
) -> None:
    configure(world, limits={"waitingPerTeam": 100, "waitingPerOwner": 100, limit: ARRAY})
    submit(world, "runs", BOB, ResourceConfig=on(4), Environment={"SANDBOX_RUN_SECONDS": "7200"})
    world.tick()
    sweep = {"grid": {"lr": [str(number) for number in range(ARRAY)]}}
    world.submitter.submit(Submission(request=request("sweep"), sweep=sweep, at_once=at_once), ADA)
    world.tick()
    world.commands.hold("sweep", ADA)
    world.tick()
    for number in range(jobs):
        submit(world, f"job-{number}", ADA)
    if fits:
        assert not world.commands.release("sweep", ADA).job.held
        return
    with pytest.raises(QueueFull, match=f"wait for {P5}, and {ARRAY} may"):
        world.commands.release("sweep", ADA)
    assert get_job(world.table, "sweep").held
    world.commands.stop("sweep_0", ADA)
    world.tick()
    assert not world.commands.release("sweep", ADA).job.held


def test_a_repeated_submission_is_answered_although_it_took_the_last_place(world: World) -> None:
    submit(world, "a1", ADA)
    world.submitter.submit(request("a2"), ADA, "key")
    assert world.submitter.submit(request("a2"), ADA, "key")[1] is True
    assert world.submitter.submit(request("a2"), ADA)[1] is False


def test_a_dry_run_reports_a_full_queue(world: World) -> None:
    for name in ("a1", "a2"):
        submit(world, name, ADA)
    with pytest.raises(QueueFull):
        world.forecast_service.dry_run(request("a3"), ADA)


def test_a_preempted_job_returns_to_its_place_although_the_queue_is_full(world: World) -> None:
    submit(world, "low", ADA, ResourceConfig=on(4))
    world.tick()
    for name in ("a1", "a2"):
        submit(world, name, ADA, ResourceConfig=on(4))
    world.submitter.submit(request("high", 9, ResourceConfig=on(4)), BOB)
    world.tick()
    world.pass_time(180)
    states = {name: get_job(world.table, name).job_state for name in ("high", "low", "a1", "a2")}
    assert states == {"high": "running", "low": "preempted", "a1": "pending", "a2": "pending"}
    assert "3 of your jobs wait" in refused(world, "a3", ADA)


def test_entries_without_an_owner_count_for_the_queue_only(world: World) -> None:
    for i, owner in enumerate((ADA, ADA, BOB)):
        submit(world, f"old{i}", owner)
        entry = QueueEntry.parse(world.table.query(QueueEntry.partition(P5), limit=10)[i])
        item = {name: value for name, value in entry.put().item.items() if name != "ownedBy"}
        world.table.write([type(entry.put())(item=item)])
    submit(world, "new", ADA)
    assert "4 jobs wait" in refused(world, "late", ADA)


def waits(world: World, name: str, team: str, priority: int) -> JobView[JobRecord]:
    """Submit, a while after all others."""
    world.now_s += 1
    tags = [{"Key": "team", "Value": team}, {"Key": "priority", "Value": str(priority)}]
    return world.submitter.submit(request(name, Tags=tags), ADA)[0]


def place_of(world: World, name: str) -> int:
    """The place of a job among all entries of all lines of a pool."""
    assert isinstance(world.table, MemoryTable)
    ranks = [item["sk"] for item in world.table.items() if item["pk"].startswith(QueueEntry.partition(P5))]
    return 1 + sorted(ranks).index(get_job(world.table, name).rank())


@pytest.mark.parametrize("noted", [True, False], ids=["who left is noted", "applied before who left was noted"])
@pytest.mark.parametrize("length", [0, 1, MAX_TAIL - 1, MAX_TAIL, 3 * MAX_TAIL])
@pytest.mark.parametrize("team", ["research", "left"])
def test_a_submission_returns_its_place_in_the_queues_of_all_teams(
    world: World, length: int, team: str, *, noted: bool
) -> None:
    roomy = {"limits": {"waitingPerTeam": 500, "waitingPerOwner": 500}}
    configure(world, teams={**TEAMS, "left": {}}, **roomy)
    for i in range(length):
        waits(world, f"old{i:02}", team, 2 if i % 4 else 7)
    waits(world, "other", "products", 5)
    configure(world, teams=TEAMS, **roomy)
    apply_configuration(world.table, world.configuration.first, world.clocks)
    if not noted:
        item = world.table.get(Key("config", "config")) or {}
        world.table.write([Put(item={name: value for name, value in item.items() if name != "left"})])
    for name, priority in (("last", 0), ("equal", 2), ("middle", 6), ("first", 9), ("equals", 2)):
        assert waits(world, name, "research", priority).place == place_of(world, name)


@pytest.mark.parametrize("length", [0, MAX_TAIL - 2, 3 * MAX_TAIL])
def test_a_dry_run_returns_the_place_of_a_submission(world: World, length: int) -> None:
    configure(world, limits={"waitingPerTeam": 500, "waitingPerOwner": 500})
    for i in range(length):
        waits(world, f"old{i:02}", "", 2 if i % 4 else 7)
    for priority in (0, 2, 9):
        asked = request("asked", priority)
        told = world.forecast_service.dry_run(asked, ADA).seen.place
        assert told == world.submitter.submit(asked, ADA)[0].place
        world.commands.stop("asked", ROOT)
        world.table.write([Delete(key=JobRecord.key("asked"))])


def test_a_place_behind_a_partly_counted_queue_is_also_correct(world: World) -> None:
    roomy = {"waitingPerTeam": 500, "waitingPerOwner": 500}
    configure(world, teams=TEAMS, limits=roomy)
    for i in range(2 * MAX_TAIL):
        waits(world, f"old{i:02}", "products", 5)
    configure(world, teams=TEAMS, limits={**roomy, "waitingPerTeam": MAX_TAIL + 1})
    apply_configuration(world.table, world.configuration.first, world.clocks)
    context = world.submitter.context(ADA)
    with pytest.raises(QueueFull):
        world.submitter.enqueue(request("late", 1, **of_team("products")), context)
    submitted = world.submitter.enqueue(request("new", 1, **of_team("research")), context)
    assert world.submitter.places([submitted], context)[0].place == 2 * MAX_TAIL + 1
