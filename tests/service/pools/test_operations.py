"""People pause, drain and resume pools, and change their size while jobs wait and run."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import pytest

from headway_service.actions.action import ActionKind
from headway_service.actions.history import read_actions
from headway_service.errors import InvalidConfiguration, PoolNotFound, RetryLater
from headway_service.invocation import LEASE_MARGIN_MS
from headway_service.pools.edit_config import ConfigEditor
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Write
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PauseRecord
from tests.service.launching.test_backoff import break_sagemaker
from tests.service.world import INVOCATION_S, P5, World, on

G5 = "ml.g5.xlarge"
BOTH = {
    "InstanceGroups": [{"InstanceType": each, "InstanceCount": 1, "InstanceGroupName": each[3:5]} for each in (P5, G5)]
}
EVERYTHING = PauseRecord.EVERYTHING
LEASE_S = INVOCATION_S + LEASE_MARGIN_MS / 1000


@pytest.fixture
def world() -> World:
    return World(pools={P5: 2, G5: 2})


@pytest.fixture
def pauses(world: World) -> PoolOperations:
    return PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )


def editor(world: World) -> ConfigEditor:
    return ConfigEditor(table=world.table, first=world.configuration.first, clocks=world.clocks)


def codes(world: World, *names: str) -> dict[str, str]:
    return {name: str(world.seen(name).reason.code) for name in names}


@pytest.mark.parametrize("what", [P5, EVERYTHING])
def test_no_job_starts_in_a_paused_pool_and_running_jobs_continue(
    world: World, pauses: PoolOperations, what: str
) -> None:
    world.submit("runs")
    world.tick()
    pauses.pause(what, "user/ada", "the cooling is repaired")
    world.submit("waits")
    world.submit("other", ResourceConfig=on(1, G5))
    world.tick()
    other = "running" if what == P5 else "pending"
    assert world.states("runs", "waits", "other") == {"runs": "running", "waits": "pending", "other": other}
    seen = world.seen("waits")
    assert (str(seen.reason.code), seen.place) == ("Paused", 1)
    assert "by user/ada: the cooling is repaired;" in seen.reason.message
    world.pass_time(3600)
    assert world.states("runs", "waits") == {"runs": "completed", "waits": "pending"}
    pauses.resume(what, "user/ada")
    world.tick()
    assert world.states("waits", "other") == {"waits": "running", "other": "completed" if what == P5 else "running"}
    world.check()


def test_pausing_and_resuming_wake_the_scheduler_and_can_be_repeated(world: World, pauses: PoolOperations) -> None:
    pauses.resume(P5, "user/ada")
    for by in ("user/ada", "user/eve"):
        pauses.pause(P5, by, "so it is")
    (pause,) = read_ledger(world.table).pauses
    assert pause.by == "user/ada"
    for _ in range(2):
        pauses.resume(P5, "user/eve")
    assert world.wakes == ["resumed", "paused", "paused", "resumed", "resumed"]
    assert read_ledger(world.table).pauses == ()


def test_each_operation_that_changes_something_is_recorded_once_with_its_author(
    world: World, pauses: PoolOperations
) -> None:
    for by, stops in (("user/ada", False), ("user/eve", False), ("user/ada", True), ("user/ada", True)):
        pauses.pause(P5, by, "so it is", stops=stops, address="10.0.0.7")
        world.now_s += 1
    for _ in range(2):
        pauses.resume(P5, "user/eve", address="10.0.0.8")
        world.now_s += 1
    done = [each for each in read_actions(world.table, 10).actions if each.kind is not ActionKind.CONFIGURE]
    assert [(each.kind, each.target, each.by, each.address, each.reason) for each in reversed(done)] == [
        ("pause", P5, "user/ada", "10.0.0.7", "so it is"),
        ("drain", P5, "user/ada", "10.0.0.7", "so it is"),
        ("resume", P5, "user/eve", "10.0.0.8", ""),
    ]


def test_a_pause_that_was_not_written_is_not_recorded(world: World, pauses: PoolOperations) -> None:
    before = read_actions(world.table, 10)
    with (
        mock.patch.object(type(world.table), "write", side_effect=RetryLater("busy")),
        pytest.raises(RetryLater),
    ):
        pauses.pause(P5, "user/ada", "so it is")
    assert read_actions(world.table, 10) == before


def test_an_unknown_pool_is_not_paused_and_the_known_ones_are_named(world: World, pauses: PoolOperations) -> None:
    for act in (lambda: pauses.pause("ml.x.y", "user/ada", "x"), lambda: pauses.resume("ml.x.y", "user/ada")):
        with pytest.raises(PoolNotFound, match=f"there is no pool ml.x.y; there are: {G5}, {P5}"):
            act()


def test_all_pools_and_a_single_pool_are_resumed_separately(world: World, pauses: PoolOperations) -> None:
    for what in (P5, EVERYTHING):
        pauses.pause(what, "user/ada", "so it is")
    world.submit("a")
    pauses.resume(EVERYTHING, "user/ada")
    world.tick()
    assert codes(world, "a") == {"a": "Paused"}
    pauses.resume(P5, "user/ada")
    world.tick()
    assert world.states("a") == {"a": "running"}


def test_a_pause_outlives_a_configuration_without_the_pool(world: World, pauses: PoolOperations) -> None:
    pauses.pause(G5, "user/ada", "so it is")
    editor(world).replace({"pools": {P5: {"size": 2}}}, None)
    editor(world).replace({"pools": {P5: {"size": 2}, G5: {"size": 2}}}, None)
    world.submit("a", ResourceConfig=on(1, G5))
    world.tick()
    assert codes(world, "a") == {"a": "Paused"}


def test_no_job_is_preempted_for_a_paused_pool(world: World, pauses: PoolOperations) -> None:
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    pauses.pause(P5, "user/ada", "so it is")
    world.submit("urgent", 9)
    world.tick()
    assert world.states("low", "urgent") == {"low": "running", "urgent": "pending"}


def test_a_start_that_was_decided_before_the_pause_takes_no_effect_after_it(
    world: World, pauses: PoolOperations
) -> None:
    world.submit("a")
    real = world.table.write

    def write(writes: Sequence[Write]) -> None:
        world.table.write = real  # type: ignore[method-assign]
        pauses.pause(P5, "user/ada", "so it is")
        real(writes)

    ticker = world.ticker()
    world.configured()
    world.table.write = write  # type: ignore[method-assign]
    assert ticker.run().rejected == 1
    assert world.states("a") == {"a": "pending"}
    assert world.called("CreateTrainingJob") == []


@pytest.mark.parametrize("paused", [G5, EVERYTHING])
def test_a_preemption_that_was_decided_before_the_pause_of_a_demanded_pool_takes_no_effect_after_it(
    world: World, pauses: PoolOperations, paused: str
) -> None:
    """The pool of the victim is not paused; another one that the preemptor waits for is."""
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("urgent", 9, ResourceConfig={**BOTH, "VolumeSizeInGB": 30})
    real = world.table.write

    def write(writes: Sequence[Write]) -> None:
        world.table.write = real  # type: ignore[method-assign]
        pauses.pause(paused, "user/ada", "so it is")
        real(writes)

    ticker = world.ticker()
    world.table.write = write  # type: ignore[method-assign]
    report = ticker.run()
    assert (report.preempted, report.rejected) == ([], 1)
    assert world.states("low", "urgent") == {"low": "running", "urgent": "pending"}
    assert world.called("StopTrainingJob") == []


def test_a_job_waiting_for_a_paused_pool_delays_no_job_in_others(world: World, pauses: PoolOperations) -> None:
    pauses.pause(P5, "user/ada", "so it is")
    for number in range(30):
        world.submit(f"both-{number}", 9, ResourceConfig={"VolumeSizeInGB": 30, **BOTH})
    world.submit("g5", 0, ResourceConfig=on(2, G5))
    world.tick()
    assert world.states("g5", "both-0") == {"g5": "running", "both-0": "pending"}
    assert codes(world, "both-0", "both-29") == {"both-0": "Paused", "both-29": "Paused"}
    world.check()


@pytest.mark.parametrize("made", [True, False])
def test_an_unfinished_launch_is_settled_without_launching(world: World, pauses: PoolOperations, made: bool) -> None:
    real = world.fleet.call
    break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    world.fleet.call = real  # type: ignore[method-assign]
    if made:
        world.fleet.call("CreateTrainingJob", world.calls[-1][1], now=world.now_s)
    pauses.pause(P5, "user/ada", "so it is")
    world.now_s += LEASE_S + 10
    before = len(world.called("CreateTrainingJob"))
    world.tick()
    assert world.states("a") == {"a": "running"}, "SageMaker may yet show it"
    world.now_s += VISIBLE_AFTER_S
    world.tick()
    assert world.states("a") == {"a": "running" if made else "pending"}
    assert len(world.called("CreateTrainingJob")) == before
    assert world.seen("a").job.attempt_count == 1, "a name that SageMaker may have is not used again"
    world.check()
    pauses.resume(P5, "user/ada")
    world.now_s += 60
    world.tick()
    assert world.states("a") == {"a": "running"}


def test_a_drained_pool_becomes_empty_and_its_jobs_keep_their_places(world: World, pauses: PoolOperations) -> None:
    for name in ("a", "b"):
        world.submit(name)
        world.now_s += 1
    world.tick()
    world.submit("c")
    pauses.pause(P5, "user/ada", "no stop yet")
    world.tick()
    assert world.states("a", "b") == {"a": "running", "b": "running"}
    pauses.pause(P5, "user/eve", "move out", stops=True)
    pause = next(use.pause for use in world.capacity() if use.pool == P5)
    assert pause is not None
    assert (pause.by, pause.reason, pause.stops) == ("user/ada", "no stop yet", True)
    assert world.tick().drained == ["a", "b"]
    assert world.states("a", "b") == {"a": "stopping", "b": "stopping"}
    world.pass_time(600)
    assert world.states("a", "b", "c") == {"a": "pending", "b": "pending", "c": "pending"}
    assert [world.seen(name).place for name in ("a", "b", "c")] == [1, 2, 3]
    job = world.seen("a").job
    assert (str(job.reason.code), job.reason.message) == (
        "Requeued",
        f"waits again in its old place in the queue, as user/eve drains {P5}: move out",
    )
    assert (job.preemption_count, job.requeues) == (0, 0)
    pauses.resume(P5, "user/ada")
    world.tick()
    assert world.states("a", "b", "c") == {"a": "running", "b": "running", "c": "pending"}
    world.check()


def test_no_job_is_stopped_for_an_ended_drain(world: World, pauses: PoolOperations) -> None:
    world.submit("a")
    world.tick()
    pauses.pause(P5, "user/ada", "move out", stops=True)
    ledger = read_ledger(world.table)
    pause = ledger.drained(ledger.attempts[0])
    assert pause is not None
    pauses.resume(P5, "user/ada")
    ticker = world.ticker()
    assert ticker.run().drained == []
    assert world.states("a") == {"a": "running"}


def test_a_paused_pool_is_shown_with_the_caller_and_the_reason(world: World, pauses: PoolOperations) -> None:
    pauses.pause(P5, "user/ada", "so it is")
    uses = {use.pool: use.pause for use in world.capacity()}
    assert uses[G5] is None
    assert uses[P5] == PauseRecord(pool=P5, by="user/ada", reason="so it is", since_ms=world.clock())


def test_a_forecast_assumes_that_a_paused_pool_stays_paused(world: World, pauses: PoolOperations) -> None:
    pauses.pause(P5, "user/ada", "so it is")
    world.submit("a")
    outlook = world.forecast_service.forecast(None, 10)
    assert [each.start_ms for each in outlook.jobs] == [None]
    assert f"Paused pools ({P5}) are assumed to stay paused" in outlook.note


def test_a_pool_is_resized_and_nothing_else_changes(world: World) -> None:
    editor(world).replace({"pools": {P5: {"size": 2}, G5: {"size": 1}}, "priority": {"maximum": 7}}, None)
    editor(world).resize(P5, 5)
    known = world.configured()
    assert ({pool: each.size for pool, each in known.pools.items()}, known.priority.maximum) == ({P5: 5, G5: 1}, 7)
    assert {pool.pool: pool.size for pool in read_ledger(world.table).pools} == {P5: 5, G5: 1}


def test_jobs_that_wait_for_a_pool_of_size_0_have_no_place_and_get_it_back(world: World) -> None:
    world.submit("a")
    world.submit("b")
    editor(world).resize(P5, 0)
    seen = [world.seen(name) for name in ("a", "b")]
    assert [(each.place, str(each.reason.code)) for each in seen] == [(None, "ExceedsPool")] * 2
    editor(world).resize(P5, 1)
    assert [world.seen(name).place for name in ("a", "b")] == [1, 1]
    world.tick()
    assert world.seen("b").place == 1


def test_a_pool_that_is_made_smaller_than_its_use_stops_nothing_and_starts_nothing(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    world.tick()
    editor(world).resize(P5, 1)
    world.submit("b")
    world.tick()
    assert world.states("a", "b") == {"a": "running", "b": "pending"}
    assert {use.pool: use.free for use in world.capacity()}[P5] == -1


def test_a_new_pool_and_a_size_that_breaks_a_guarantee_are_refused(world: World) -> None:
    with pytest.raises(PoolNotFound, match="`headway config set` adds one"):
        editor(world).resize("ml.x.y", 1)
    editor(world).replace({"pools": {P5: {"size": 2}}, "teams": {"a": {"guaranteed": {P5: 2}}}}, None)
    with pytest.raises(InvalidConfiguration, match="1 is less than the 2 that teams are guaranteed"):
        editor(world).resize(P5, 1)
    assert world.configured().pools[P5].size == 2
