"""The gauges of the queue."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lifecycle import AttemptState
from headway.reasons import outside
from headway_service.errors import RetryLater
from headway_service.monitoring import gauges, queue_depth
from headway_service.monitoring.gauges import drift_by_pool, pool_figures, stuck_attempts
from headway_service.observability import metrics
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Update
from headway_service.sagemaker_api.tags import ATTEMPT_TAG
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord, ReservationRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
AFTER_S = 300
HOUR_S = 3600
LONG = {"SANDBOX_RUN_SECONDS": "90000"}


def measured(world: World) -> dict[tuple[str, str], float]:
    """All gauges, by name and dimension."""
    found = gauges.gauges(world.table, read_ledger(world.table), world.clock(), world.machine_clock(), AFTER_S)
    return {(each.metric.name, each.which): each.value for each in found}


def of_pool(world: World, pool: str = P5) -> dict[str, float]:
    return {name: value for (name, which), value in measured(world).items() if which == pool}


def world_of(pools: dict[str, int] | None = None, **configuration: Any) -> World:
    """A queue that has had its first tick."""
    world = World(pools=pools)
    world.configuration.write({**world.configuration.document, **configuration})
    world.tick()
    return world


def test_the_instances_of_a_warm_pool_are_not_free() -> None:
    world = world_of({P5: 4}, warmPools={})
    world.submit("kept", ResourceConfig={**on(3), "KeepAlivePeriodInSeconds": 3600})
    world.tick()
    world.pass_time(1500)
    (use,) = world.capacity()
    assert (use.warm, use.free) == (3, 1)
    assert of_pool(world)["Free"] == 1
    world.submit("runs", ResourceConfig=on(1), Environment=LONG)
    world.tick()
    assert of_pool(world)["Free"] == world.capacity()[0].free == 0


def attempt_of(**changes: Any) -> AttemptRecord:
    """An attempt that holds an instance since the beginning of time."""
    return AttemptRecord(
        **{
            "attempt_name": "a", "job_name": "a", "number": 1, "attempt_state": AttemptState.LIVE, "mark": "m",
            "demand": {P5: 2}, "priority": 0, "entry_time": 0, "since_ms": 0, "lease_holder": "", "lease_until_ms": 0,
            "seen_ms": 0,
            **changes,
        }
    )  # fmt: skip


def rogue_of(**changes: Any) -> RogueJobRecord:
    """A live training job that did not come through the queue."""
    return RogueJobRecord(
        **{
            "training_job_name": "r", "arn": "arn", "created_ms": 0, "training_job_status": "InProgress",
            "demand": {P5: 1}, "limit_ms": 1, "since_ms": 0, "seen_ms": 0, "config_version": 1,
            "reason": ReasonRecord.of(outside({}, ())), **changes,
        }
    )  # fmt: skip


def test_before_the_first_tick_nothing_but_that_is_measured() -> None:
    found = gauges.gauges(World().table, read_ledger(World().table), 0, 0, AFTER_S)
    assert [each for each in found if each.value] == [metrics.MEASURED.of(1)]


def test_of_an_idle_queue_only_that_it_was_measured_is_published() -> None:
    world = world_of()
    assert measured(world) == {
        **{(name, P5): 0 for name in ("Allocated", "Reserved", "Rogue", "Utilisation", "Waiting", "OldestWait")},
        **{(name, ""): 0 for name in ("Startable", "Unlaunchable", "Neglected", "Stuck", "Drift")},
        ("Measured", ""): 1,
    }
    found = gauges.gauges(world.table, read_ledger(world.table), world.clock(), world.machine_clock(), AFTER_S)
    assert [each for each in found if metrics.is_published(each)] == [metrics.MEASURED.of(1)]


@given(held=st.lists(st.integers(0, 4), min_size=5, max_size=5), size=st.integers(4, 8))
def test_metrics_have_averages_and_the_minimum_of_free_instances(held: list[int], size: int) -> None:
    """A minute without a value is one in which nothing was held, and all instances were free."""
    pool = PoolRecord(pool=P5, size=size, free=0)
    minutes: list[dict[str, float]] = []
    for count in held:
        ledger = Ledger(pools=(pool,), attempts=(attempt_of(demand={P5: count}),) if count else (), reservations=())
        found = pool_figures(ledger, [], 0)
        minutes.append({each.metric.name: each.value for each in found if metrics.is_published(each)})
    assert sum(each.get("Allocated", 0) for each in minutes) / 5 == pytest.approx(sum(held) / 5)
    assert sum(each.get("Utilisation", 0) for each in minutes) / 5 == pytest.approx(100 * sum(held) / 5 / size)
    assert min((each["Free"] for each in minutes if "Free" in each), default=size) == size - max(held)


def test_a_pool_has_its_held_free_and_demanded_instances() -> None:
    world = world_of({P5: 4, G5: 1})
    world.submit("runs", 5, ResourceConfig=on(3), Environment=LONG)
    world.tick()
    world.submit("wide", 5, ResourceConfig=on(2))
    world.now_s += 60
    world.submit("low", 1, ResourceConfig=on(2))
    world.now_s += 30
    assert of_pool(world) == {
        "Allocated": 3, "Reserved": 0, "Rogue": 0, "Free": 1, "Utilisation": 75, "Waiting": 2, "OldestWait": 90,
    }  # fmt: skip
    assert of_pool(world, G5)["Utilisation"] == 0


def test_reserved_and_rogue_instances_are_not_free() -> None:
    ledger = Ledger(
        pools=(PoolRecord(pool=P5, size=8, free=1),),
        attempts=(attempt_of(),),
        reservations=(ReservationRecord(job_name="b", demand={P5: 4}),),
        rogues=(rogue_of(charged={P5: 1}),),
    )
    found = {each.metric.name: each.value for each in pool_figures(ledger, [], 0)}
    assert (found["Allocated"], found["Reserved"], found["Rogue"], found["Free"]) == (2, 4, 1, 1)


def test_a_pool_of_size_zero_is_fully_used_while_a_job_runs_there() -> None:
    world = world_of({P5: 1})
    world.submit("a", Environment=LONG)
    world.tick()
    world.configuration.write({"pools": {"ml.p5.48xlarge": {"size": 0}}})
    world.tick()
    assert (of_pool(world)["Utilisation"], of_pool(world)["Free"]) == (100, -1)


def test_each_team_has_its_waiting_jobs_and_jobs_without_a_team_belong_to_none() -> None:
    world = world_of({P5: 1}, teams={"vision": {}, "speech": {}, "default": {}})
    for name, team in (("a", "vision"), ("b", "vision"), ("c", "speech")):
        world.submit(name, Tags=[{"Key": "team", "Value": team}], ResourceConfig=on(1), Environment=LONG)
        world.tick()
        world.now_s += 10
    found = measured(world)
    assert {team: found["Waiting", team] for team in ("vision", "speech", "default")} == {
        "vision": 1, "speech": 1, "default": 0,
    }  # fmt: skip
    assert (found["OldestWait", "vision"], found["OldestWait", "speech"], found["Waiting", P5]) == (20, 10, 2)


def test_the_oldest_job_is_found_at_any_priority() -> None:
    world = world_of({P5: 1})
    world.submit("runs", 9, Environment=LONG)
    world.tick()
    for name, priority in (("old", 0), ("middle", 3), ("young", 7), ("younger", 7)):
        world.submit(name, priority, Environment=LONG)
        world.now_s += 100
    assert of_pool(world)["OldestWait"] == 400


class Counted(MemoryTable):
    """A table that counts its calls, and the items that it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.given = 0

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Any, ...]:
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        self.asked, self.given = self.asked + 1, self.given + len(found)
        return found

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Any, ...]:
        found = super().query_for_display(pk, prefix=prefix, limit=limit)
        self.asked, self.given = self.asked + 1, self.given + len(found)
        return found


def test_the_reads_do_not_grow_with_the_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_depth, "MAX_COUNTED", 10)
    table = Counted()
    world = World(pools={P5: 1}, table=table)
    world.tick()
    world.submit("runs", 9, Environment=LONG)
    world.tick()
    reads = []
    for count in (10, 20, 40):
        for i in range(count):
            world.submit(f"j{count}-{i}", i % 2)
        table.asked = table.given = 0
        assert of_pool(world)["Waiting"] == 10
        reads.append((table.asked, table.given))
    assert reads[0] == reads[1] == reads[2]


def test_the_number_of_priorities_read_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_depth, "MAX_PRIORITIES", 2)
    world = world_of({P5: 1})
    world.submit("runs", 9, Environment=LONG)
    world.tick()
    for name, priority in (("out-of-sight", 0), ("second", 3), ("first", 7)):
        world.submit(name, priority)
        world.now_s += 100
    assert of_pool(world)["OldestWait"] == 200


def test_a_table_that_cannot_answer_leaves_the_gauges_out() -> None:
    class Tired(MemoryTable):
        tired = False

        def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Any, ...]:
            if self.tired:
                raise RetryLater("later")
            return super().query(pk, prefix=prefix, after=after, limit=limit)

    table = Tired()
    world = World(table=table)
    world.tick()
    ledger = read_ledger(table)
    table.tired = True
    assert gauges.gauges(table, ledger, world.clock(), world.machine_clock(), AFTER_S) == []


# ------------------------------------------------------------ a line that does not move


def startable(world: World) -> float:
    return measured(world)["Startable", ""]


def test_a_job_that_has_not_started_could_start() -> None:
    world = world_of()
    world.submit("a")
    assert startable(world) == 1
    world.tick()
    assert startable(world) == 0


def test_a_job_that_does_not_fit_or_is_held_could_not_start() -> None:
    world = world_of({P5: 2})
    world.submit("runs", 5, Environment=LONG)
    world.tick()
    world.submit("wide", 5, ResourceConfig=on(2))
    world.submit("held", 1, StoppingCondition={"MaxRuntimeInSeconds": 60})
    world.commands.hold("held", ROOT)
    assert startable(world) == 0
    world.commands.release("held", ROOT)
    assert startable(world) == 1


@pytest.mark.parametrize("what", [P5, PauseRecord.EVERYTHING])
def test_a_paused_pool_does_not_count_as_stalled(what: str) -> None:
    world = world_of()
    world.submit("a")
    pauses = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    pauses.pause(what, "user/ada", "the cooling is repaired")
    assert startable(world) == 0
    pauses.resume(what, "user/ada")
    assert startable(world) == 1


def test_a_pool_that_backs_off_after_a_failed_launch_does_not_count_as_stalled() -> None:
    world = world_of()
    world.submit("a")
    until_ms = world.clock() + 60_000
    world.table.write([Update(key=PoolRecord.key(P5), sets={"backoffUntilMs": until_ms, "backoffCause": "throttled"})])
    assert startable(world) == 0
    world.now_s += 61
    assert startable(world) == 1


# ------------------------------------------------------------ what is stuck


LAUNCHING, STOPPING = AttemptState.LAUNCHING, AttemptState.STOPPING


@pytest.mark.parametrize(
    ("age_s", "is_stuck", "changes"),
    [
        (gauges.STUCK_LAUNCHING_S, False, {"attempt_state": LAUNCHING}),
        (gauges.STUCK_LAUNCHING_S + 1, True, {"attempt_state": LAUNCHING}),
        (gauges.STUCK_STARTING_S, False, {}),
        (gauges.STUCK_STARTING_S + 1, True, {}),
        (gauges.STUCK_STARTING_S + 1, True, {"secondary_status": "Starting"}),
        (gauges.STUCK_STARTING_S + 1, True, {"secondary_status": "Pending"}),
        # It has its instances, and large data.
        (gauges.STUCK_DOWNLOADING_S, False, {"secondary_status": "Downloading"}),
        (gauges.STUCK_DOWNLOADING_S + 1, True, {"secondary_status": "Downloading"}),
        (gauges.STUCK_STARTING_S + 1, False, {"secondary_status": "Training"}),
        (gauges.STUCK_STARTING_S + 1, False, {"secondary_status": "Uploading"}),
        (gauges.STUCK_STARTING_S + 1, False, {"secondary_status": "Starting", "interruptions": 1}),
        (gauges.STUCK_STOPPING_S, False, {"attempt_state": STOPPING, "stopping_since_ms": 0}),
        (gauges.STUCK_STOPPING_S + 1, True, {"attempt_state": STOPPING, "stopping_since_ms": 0}),
        (gauges.STUCK_STOPPING_S + 1, False, {"attempt_state": STOPPING, "stopping_since_ms": 60_000}),
        # It was written before the time of its stop was kept.
        (30 * 86_400, False, {"attempt_state": STOPPING}),
    ],
)
def test_an_attempt_is_stuck_when_it_stays_in_a_state_for_longer_than_its_bound(
    age_s: int, is_stuck: bool, changes: dict[str, Any]
) -> None:
    attempt = attempt_of(**changes)
    assert stuck_attempts([attempt], age_s * 1000, age_s * 1000) == ([attempt] if is_stuck else [])


def test_stopping_counts_from_the_first_decision_to_stop() -> None:
    world = world_of({P5: 1})
    world.submit("low", 1, Environment=LONG)
    world.tick()
    world.submit("high", 5)
    world.tick()
    preempted_ms = world.clock()
    world.now_s += 20
    world.commands.stop("low", ROOT)
    (attempt,) = read_ledger(world.table).attempts
    assert attempt.stopping_since_ms == preempted_ms
    world.now_s += gauges.STUCK_STOPPING_S
    assert measured(world)["Stuck", ""] == 1


# ------------------------------------------------------------ drift


def ledger_of(free: int, *attempts: AttemptRecord) -> Ledger:
    return Ledger(pools=(PoolRecord(pool=P5, size=4, free=free),), attempts=attempts, reservations=())


@pytest.mark.parametrize(
    ("ledger", "now_s", "drift"),
    [
        (ledger_of(2, attempt_of()), gauges.UNCONFIRMED_S, {}),
        (ledger_of(2, attempt_of()), gauges.UNCONFIRMED_S + 1, {P5: 2}),
        (ledger_of(2, attempt_of(seen_ms=60_000)), gauges.UNCONFIRMED_S + 1, {}),
        # SageMaker has not confirmed it yet.
        (ledger_of(2, attempt_of(attempt_state=LAUNCHING)), gauges.UNCONFIRMED_S + 1, {}),
        (ledger_of(1, attempt_of()), 1, {P5: 1}),
        (ledger_of(4, attempt_of()), 1, {P5: 2}),
        # Its pool was removed from the configuration.
        (ledger_of(4, attempt_of(demand={G5: 1})), gauges.UNCONFIRMED_S + 1, {}),
    ],
)
def test_drift_counts_attempts_unconfirmed_for_long_and_errors_of_the_counter(
    ledger: Ledger, now_s: int, drift: dict[str, int]
) -> None:
    assert drift_by_pool(ledger, now_s * 1000, AFTER_S) == drift


def test_a_longer_reconciler_delay_causes_no_drift() -> None:
    ledger = ledger_of(2, attempt_of())
    assert drift_by_pool(ledger, (gauges.UNCONFIRMED_S + 1) * 1000, after_s=HOUR_S) == {}
    assert drift_by_pool(ledger, (3 * HOUR_S + 1) * 1000, after_s=HOUR_S) == {P5: 2}


def test_a_training_job_with_the_mark_of_a_missing_attempt_is_drift() -> None:
    world = world_of()
    world.fleet.create(request("plain", Environment=LONG), now=world.now_s)
    world.patrol()
    assert measured(world)["Drift", ""] == 0
    marked = request("marked", Environment=LONG, Tags=[{"Key": ATTEMPT_TAG, "Value": "mark-1"}], ResourceConfig=on(2))
    world.fleet.create(marked, now=world.now_s)
    world.patrol()
    assert measured(world)["Drift", ""] == 2


def test_a_lost_event_is_no_drift_while_the_reconciler_recovers_in_time() -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    drifts = []
    for _ in range(30):
        world.pass_time(60, deliver=False)
        world.reconcile(AFTER_S)
        drifts.append(measured(world)["Drift", ""])
    assert drifts == [0] * 30
    assert world.states("a") == {"a": "completed"}
