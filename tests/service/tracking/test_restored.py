"""The table is put back to an earlier minute, and SageMaker runs what the queue has started since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy import restore
from headway_sandbox.sagemaker.faults import Faults
from headway_service.errors import RestoreUnfinished
from headway_service.jobs.rogue_stops import RogueJobStops
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Absent, Delete, Key, Put
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.launching.test_unproven_launches import UNKIND
from tests.service.tracking.test_rogue_jobs import reason, rogues
from tests.service.world import P5, ROOT, World, on

State = dict[Key, dict[str, Any]]
EVERYTHING = PauseRecord.key(PauseRecord.EVERYTHING)


def state_of(world: World) -> State:
    """The items of the table."""
    assert isinstance(world.table, MemoryTable)
    return {Key(item["pk"], item["sk"]): dict(item) for item in world.table.items()}


def put_back(world: World, state: State) -> None:
    """What ``deploy/restore.py copy`` does."""
    wanted, present = dict(state), state_of(world)
    before = wanted.pop(EVERYTHING, None)
    present.pop(EVERYTHING, None)
    record = restore.guarded(world.clock(), None, restored=PauseRecord.parse(before) if before else None)
    guard = record.put(requires=Absent()).item
    world.table.write([Put(item=guard)])
    for key in present.keys() - wanted.keys():
        world.table.write([Delete(key=key)])
    for item in wanted.values():
        world.table.write([Put(item=item)])
    world.calls.clear()
    world.wakes.clear()


def pauses(world: World) -> PoolOperations:
    return PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )


def half_a_minute(world: World) -> None:
    """Time passes, and the scheduled functions run. Once the patrol has gone round, all is charged."""
    world.pass_time(30)
    world.reconcile()
    world.patrol()
    # After a restore nothing may be launched before that.
    if read_ledger(world.table).restored is not None:
        world.tick()
        assert world.called("CreateTrainingJob") == []
    else:
        world.tick()
        world.check()


def until(world: World, minutes: int, over: Callable[[], bool] = lambda: False) -> None:
    """The scheduled functions run for some minutes, or until something is so."""
    for _ in range(2 * minutes):
        if over():
            return
        half_a_minute(world)


def launched(world: World) -> bool:
    """Whether the queue may launch again."""
    return read_ledger(world.table).restored is None


def trained(world: World) -> dict[str, str]:
    return {job.name: job.status for job in world.fleet.jobs(now=world.now_s)}


def allow(world: World) -> None:
    """The queue gets the permission that it lacked."""
    if world.fleet.faults.repeated_create == "AccessDeniedException":
        world.fleet.faults = world.fleet.faults.with_changes({"repeated_create": ""})


def of(world: World, faults: Faults) -> World:
    world.fleet.faults = faults
    return world


@pytest.mark.parametrize("faults", UNKIND.values(), ids=list(UNKIND))
@pytest.mark.parametrize("ended", [False, True], ids=["that runs", "that has completed"])
def test_a_job_started_after_the_backup_is_trained_once_and_completes(faults: Faults, ended: bool) -> None:
    world = of(World(), faults)
    world.tick()
    world.submit("a")
    before = state_of(world)
    world.tick()
    world.pass_time(3000 if ended else 120)
    put_back(world, before)
    assert world.states("a") == {"a": "pending"}
    until(world, 10)
    allow(world)
    until(world, 40, lambda: world.states("a") == {"a": "completed"})
    assert world.states("a") == {"a": "completed"}
    assert trained(world) == {"a": "Completed"}
    assert (rogues(world), launched(world)) == ({}, True)


def test_an_expected_running_attempt_is_adopted_while_all_pools_are_paused() -> None:
    world = World()
    world.submit("a")
    before = state_of(world)
    world.tick()
    world.pass_time(300)
    put_back(world, before)
    world.patrol()
    assert (world.states("a"), launched(world)) == ({"a": "running"}, False)
    assert world.seen("a").job.reason.code == "Adopted"
    world.check()


def test_nothing_is_launched_before_a_round_that_began_after_sagemaker_could_show_all() -> None:
    world = World()
    world.submit("a")
    before = state_of(world)
    world.tick()
    world.pass_time(100)
    put_back(world, before)
    world.submit("b")
    restored_s = world.now_s
    until(world, 30, lambda: launched(world))
    assert world.now_s >= restored_s + VISIBLE_AFTER_S
    world.tick()
    assert world.states("b") == {"b": "running"}


@pytest.mark.parametrize("faults", UNKIND.values(), ids=list(UNKIND))
@pytest.mark.parametrize("size", [1, 2], ids=["full pool", "room in the pool"])
@pytest.mark.parametrize("left", ["", "it was deleted"], ids=["", "first attempt deleted"])
def test_a_job_with_a_running_later_attempt_is_not_trained_twice_and_completes_once(
    faults: Faults, size: int, left: str
) -> None:
    world = of(World(pools={P5: size}), faults.with_changes({"quotas": {}}))
    world.tick()
    world.submit("a", 1)
    before = state_of(world)
    world.tick()
    world.pass_time(100)
    for name in ("b", "c")[:size]:
        world.submit(name, 9)
    world.tick()
    until(world, 30, lambda: world.states("a") == {"a": "running"} and world.seen("a").job.attempt_count > 1)
    second = attempt_name("a", 2)
    assert trained(world) | {"b": "", "c": ""} == {"a": "Stopped", second: "InProgress", "b": "", "c": ""}
    if left:
        world.fleet.delete("a", now=world.now_s)
    world.pass_time(100)
    put_back(world, before)
    until(world, 30)
    allow(world)
    until(world, 60, lambda: world.states("a") == {"a": "completed"})
    assert world.states("a") == {"a": "completed"}
    live = [name for name, status in trained(world).items() if status == "InProgress"]
    assert live == []
    if not left:
        assert world.called("CreateTrainingJob")[-1] == second, "the walk over the names ends at the newest attempt"
        assert trained(world).keys() == {"a", second, *("b", "c")[:size]}
    until(world, 8)
    assert rogues(world) == {}


def test_an_unexpected_later_attempt_is_reported_and_stopped_only_by_an_operator() -> None:
    world = World(pools={P5: 1})
    world.submit("a", 1)
    before = state_of(world)
    world.tick()
    world.pass_time(100)
    world.submit("b", 9)
    world.tick()
    second = attempt_name("a", 2)
    until(world, 30, lambda: second in trained(world))
    put_back(world, before)
    world.configuration.write({"pools": {P5: {"size": 1}}, "rogues": {"charge": False, "action": "stop"}})
    until(world, 6, lambda: launched(world))
    assert rogues(world) == {second: {P5: 1}}
    assert reason(world, second) == (
        "OutsideTheQueue",
        "is an attempt of `a` that the queue has no live record of; uses 1 ml.p5.48xlarge of its pools",
    )
    until(world, 3)
    assert world.called("StopTrainingJob") == []
    RogueJobStops(world.table, world.clocks).ask(second, "user/ada")
    until(world, 5)
    assert world.called("StopTrainingJob") == [second]
    until(world, 15)
    assert world.states("a") == {"a": "completed"}


def test_an_attempt_that_stops_during_a_restore_does_not_end_its_job() -> None:
    world = World(pools={P5: 2})
    world.submit("a", 1, Environment={"SANDBOX_RUN_SECONDS": "600", "SANDBOX_STOP_SECONDS": "900"})
    before = state_of(world)
    world.tick()
    world.pass_time(400)
    world.fleet.stop("a", now=world.now_s)
    put_back(world, before)
    world.patrol()
    assert world.states("a") == {"a": "pending"}, "it is not adopted, for it will be stopped"
    until(world, 6)
    until(world, 60, lambda: world.states("a") == {"a": "completed"})
    assert trained(world) == {"a": "Stopped", attempt_name("a", 2): "Completed"}


def test_an_attempt_that_has_failed_since_then_does_not_end_its_job() -> None:
    world = World()
    world.submit("a")
    before = state_of(world)
    world.tick()
    world.pass_time(100)
    world.fleet.fail("a", "InternalServerError: We encountered an internal error.", now=world.now_s)
    put_back(world, before)
    until(world, 40, lambda: world.states("a") == {"a": "completed"})
    assert trained(world) == {"a": "Failed", attempt_name("a", 2): "Completed"}
    codes = [step.reason.code for step in world.seen("a").job.history]
    assert "NameTaken" in codes


def test_a_running_job_without_a_record_is_charged_until_it_ends() -> None:
    world = World()
    world.tick()
    before = state_of(world)
    world.submit("a")
    world.tick()
    world.pass_time(100)
    put_back(world, before)
    until(world, 6, lambda: launched(world))
    assert rogues(world) == {"a": {P5: 1}}
    world.submit("a")
    until(world, 40, lambda: world.states("a") == {"a": "completed"})
    assert world.states("a") == {"a": "completed"}, "submitted again, it is another job with other marks"
    assert trained(world) == {"a": "Completed", attempt_name("a", 2): "Completed"}


# -------------------------------------------------------------------------------------------------- pauses of operators


def test_a_pause_of_all_pools_in_the_restored_state_continues_until_it_is_resumed() -> None:
    world = World()
    world.tick()
    pauses(world).pause(PauseRecord.EVERYTHING, "user/ada", "the cooling is repaired")
    before = state_of(world)
    pauses(world).resume(PauseRecord.EVERYTHING, "user/ada")
    put_back(world, before)
    until(world, 6, lambda: launched(world))
    (pause,) = read_ledger(world.table).pauses
    assert (pause.by, pause.reason, pause.restored_ms) == ("user/ada", "the cooling is repaired", None)
    world.submit("a")
    world.tick()
    assert world.states("a") == {"a": "pending"}
    pauses(world).resume(PauseRecord.EVERYTHING, "user/ada")
    world.tick()
    assert world.states("a") == {"a": "running"}


def test_a_resume_before_the_scan_has_completed_is_refused() -> None:
    world = World()
    world.tick()
    put_back(world, state_of(world))
    with pytest.raises(RestoreUnfinished, match="nothing is launched before the patrol has checked all"):
        pauses(world).resume(PauseRecord.EVERYTHING, "user/ada")
    pauses(world).pause(P5, "user/ada", "r")
    pauses(world).resume(P5, "user/ada")
    assert not launched(world)


@pytest.mark.parametrize("meanwhile", [False, True], ids=["before it ends", "just as it ends"])
def test_a_pause_of_all_pools_before_the_scan_has_completed_must_be_resumed(meanwhile: bool) -> None:
    world = World()
    world.tick()
    put_back(world, state_of(world))
    stale = read_ledger(world.table)
    pauses(world).pause(PauseRecord.EVERYTHING, "user/ada", "the cooling is repaired")
    pauses(world).pause(PauseRecord.EVERYTHING, "user/bob", "so that nothing happens")
    if meanwhile:
        world.pass_time(300)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("headway_service.tracking.rogue_scan.read_ledger", lambda table: stale)
            world.patrol()
        assert not launched(world)
    until(world, 6, lambda: launched(world))
    (pause,) = read_ledger(world.table).pauses
    assert (pause.by, pause.reason) == ("user/ada", "the cooling is repaired")
    put_back(world, state_of(world))
    with pytest.raises(RestoreUnfinished, match="the one by user/ada is not finished"):
        pauses(world).resume(PauseRecord.EVERYTHING, "user/ada")


def test_an_unanswered_page_is_read_again_before_any_launch() -> None:
    world = World(pools={P5: 4})
    world.tick()
    before = state_of(world)
    for name in ("a", "b"):
        world.submit(name, ResourceConfig=on(2))
    world.tick()
    world.pass_time(200)
    put_back(world, before)
    world.pass_time(VISIBLE_AFTER_S, deliver=False)
    world.fleet.faults = Faults(throttle={"DescribeTrainingJob": 10})
    world.patrol()
    assert not launched(world), "one training job was not looked at"
    world.fleet.faults = Faults()
    world.patrol()
    assert launched(world)
    assert rogues(world) == {"a": {P5: 2}, "b": {P5: 2}}


def test_stopping_a_waiting_job_whose_attempt_runs_leaves_the_attempt_charged() -> None:
    world = World()
    world.submit("a")
    before = state_of(world)
    world.tick()
    world.pass_time(100)
    put_back(world, before)
    world.commands.stop("a", ROOT)
    until(world, 5)
    assert rogues(world) == {"a": {P5: 1}}
    world.check()


def test_a_restore_during_the_end_of_an_earlier_ones_pause_starts_over() -> None:
    world = World()
    world.tick()
    pauses(world).pause(PauseRecord.EVERYTHING, "user/ada", "the cooling is repaired")
    put_back(world, state_of(world))
    stale = read_ledger(world.table)
    world.pass_time(300)
    put_back(world, state_of(world))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headway_service.tracking.rogue_scan.read_ledger", lambda table: stale)
        world.patrol()
    assert not launched(world)


def test_a_restore_during_a_resume_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.tick()
    before = state_of(world)
    pauses(world).pause(PauseRecord.EVERYTHING, "user/ada", "the cooling is repaired")
    world.now_s += 1
    resume = transitions.resume

    def restore_meanwhile(record: PauseRecord) -> Any:
        put_back(world, before)
        return resume(record)

    monkeypatch.setattr(transitions, "resume", restore_meanwhile)
    with pytest.raises(RestoreUnfinished):
        pauses(world).resume(PauseRecord.EVERYTHING, "user/ada")
    assert not launched(world)
