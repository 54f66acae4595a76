"""Pools whose size follows a schedule."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.pools.apply_config import apply_configuration, get_effective
from headway_service.pools.follow_schedules import RENEW_AFTER_MS, follow_schedules
from headway_service.ports.table import Equals
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import CalendarRecord
from headway_service.store.snapshot import read_snapshot
from tests.service.scheduling.test_concurrent_schedulers import InterruptedTable
from tests.service.world import P5, World, isolation, on

G5 = "ml.g5.xlarge"
# A world starts on Friday, 2027-01-15 08:00 UTC.
HOUR_S = 3600
NIGHT = {"days": ["fri"], "from": "18:00", "to": "24:00", "size": 1}
LONG = {"SANDBOX_RUN_SECONDS": "500000"}


def world_of(*entries: dict[str, Any], size: int = 2, table: Any = None, speed: float = 1.0, **pool: Any) -> World:
    world = World(table=table, speed=speed)
    configure(world, *(entries or (NIGHT,)), size=size, **pool)
    world.tick()
    return world


def configure(world: World, *entries: dict[str, Any], size: int = 2, **pool: Any) -> None:
    world.configuration.write({"pools": {P5: {"size": size, "schedule": list(entries), **pool}}})


def limited(hours: float) -> dict[str, Any]:
    """A job that may hold its instances for so long, of which half an hour is for its start and end."""
    return {"StoppingCondition": {"MaxRuntimeInSeconds": round((hours - 0.5) * HOUR_S)}, "Environment": LONG}


def size(world: World) -> int:
    return read_ledger(world.table).pools[0].size


def test_the_size_follows_the_schedule() -> None:
    world = world_of()
    assert size(world) == 2
    world.pass_time(10 * HOUR_S - 1)
    world.tick()
    assert size(world) == 2
    world.pass_time(1)
    world.tick()
    assert size(world) == 1
    world.pass_time(6 * HOUR_S)
    world.tick()
    assert size(world) == 2
    world.check()


def test_what_starts_has_ended_when_the_pool_shrinks() -> None:
    world = world_of()
    world.submit("short", **limited(10))
    world.submit("long", **limited(11))
    world.submit("longer", **limited(11))
    world.tick()
    assert world.states("short", "long", "longer") == {"short": "running", "long": "running", "longer": "pending"}
    world.pass_time(10 * HOUR_S)
    world.tick()
    world.check()
    assert world.states("short", "long")["long"] == "running"


def test_a_job_that_would_outlast_the_pool_starts_when_it_is_large_again_and_says_so() -> None:
    world = world_of()
    world.submit("long", ResourceConfig=on(2), **limited(11))
    world.tick()
    assert world.seen("long").reason.message.startswith(
        f"would still run when the pool {P5} has only 1 instance (18:00 UTC); with a limit (MaxRuntimeInSeconds) of "
        "34200 s or less it could start now"
    )
    seen = world.forecast_service.forecast("long", 10)
    assert [each.start_ms for each in seen.jobs] == [(1_800_000_000 + 16 * HOUR_S) * 1000]
    world.pass_time(16 * HOUR_S)
    world.tick()
    assert world.states("long") == {"long": "running"}


def test_the_use_of_a_pool_shows_its_next_size() -> None:
    world = world_of()
    change = world.capacity()[0].next_change
    assert change is not None
    assert (change.size, change.at_ms) == (1, (1_800_000_000 + 10 * HOUR_S) * 1000)
    world.pass_time(10 * HOUR_S)
    world.tick()
    change = world.capacity()[0].next_change
    assert change is not None
    assert (change.size, change.at_ms) == (2, (1_800_000_000 + 16 * HOUR_S) * 1000)
    configure(world, size=2)
    world.tick()
    assert world.capacity()[0].next_change is None


def test_a_calendar_covers_a_week_on_each_day() -> None:
    world = world_of({"days": ["thu"], "from": "08:00", "to": "09:00", "size": 0})
    world.pass_time(5.5 * 24 * HOUR_S)
    world.tick()
    sizes = read_ledger(world.table).calendars[0].sizes
    in_days = [round((from_ms / 1000 - world.now_s) / 86_400, 2) for from_ms, _ in sizes]
    # What follows is the smallest size, as it is not computed yet.
    assert in_days == [0, 0.5, 0.54, 7.5, 7.54, 8]


def test_until_a_smaller_size_is_applied_nothing_starts_on_the_larger_one() -> None:
    world = world_of()
    world.submit("a", **limited(1))
    world.submit("b", **limited(1))
    world.now_s += 10 * HOUR_S
    # Another tick applies the size after this one has read the ledger.
    ledger = read_ledger(world.table)
    assert ledger.pools[0].size == 2

    assert read_snapshot(world.table, ledger, world.clock()).pools == {P5: 1}
    world.tick()
    assert sorted(world.states("a", "b").values()) == ["pending", "running"]


def test_a_clock_that_is_behind_does_no_harm() -> None:
    world = world_of()
    world.pass_time(10 * HOUR_S)
    world.tick()
    world.now_s -= 5
    world.submit("long", **limited(2))
    world.submit("longer", **limited(2))
    world.tick()
    world.now_s += 5
    world.tick()
    assert size(world) == 1
    assert sorted(world.states("long", "longer").values()) == ["pending", "running"]


def test_another_schedule_replaces_the_first_and_none_restores_the_size() -> None:
    world = world_of()
    configure(world, {**NIGHT, "from": "07:00", "to": "09:00", "size": 0})
    world.tick()
    assert size(world) == 0
    configure(world, size=5)
    world.tick()
    assert size(world) == 5
    assert read_ledger(world.table).calendars == ()


def test_a_resize_changes_the_size_outside_the_schedule() -> None:
    world = world_of({**NIGHT, "from": "07:00", "to": "09:00"})
    assert size(world) == 1
    world.container.config_editor.resize(P5, 7)
    world.tick()
    assert size(world) == 1
    world.pass_time(HOUR_S)
    world.tick()
    assert size(world) == 7


def test_a_pool_that_is_removed_loses_its_calendar() -> None:
    world = world_of()
    world.configuration.write({"pools": {"ml.g5.xlarge": {"size": 1}}})
    world.tick()
    ledger = read_ledger(world.table)
    assert ([pool.pool for pool in ledger.pools], ledger.calendars) == (["ml.g5.xlarge"], ())


def test_a_calendar_is_written_again_only_when_it_has_to_be() -> None:
    world = world_of()
    version = read_ledger(world.table).calendars[0].version
    world.pass_time(60)
    world.tick()
    assert read_ledger(world.table).calendars[0].version == version
    world.pass_time(RENEW_AFTER_MS // 1000)
    world.tick()
    assert read_ledger(world.table).calendars[0].version == version + 1


def test_the_schedule_follows_training_time_where_that_runs_faster() -> None:
    world = world_of(speed=60)
    world.pass_time(10 * HOUR_S)
    world.tick()
    assert size(world) == 1


def test_a_document_that_is_no_longer_in_effect_changes_no_size() -> None:
    world = world_of()
    old = get_effective(world.table, world.configuration.first, world.clocks)
    configure(world, size=5)
    apply_configuration(world.table, world.configuration.first, world.clocks)
    assert size(world) == 5
    assert follow_schedules(world.table, old, read_ledger(world.table), world.clock(), isolation())
    assert size(world) == 5


def test_a_document_that_is_no_longer_in_effect_removes_no_calendar() -> None:
    world = world_of(size=5)
    world.configuration.write({"pools": {P5: {"size": 5}}})
    world.tick()
    old = get_effective(world.table, world.configuration.first, world.clocks)
    configure(world, NIGHT)
    world.tick()
    before = read_ledger(world.table)
    assert before.calendars
    assert follow_schedules(world.table, old, before, world.clock(), isolation())
    assert read_ledger(world.table) == before


def test_a_document_that_is_no_longer_in_effect_sets_no_calendar() -> None:
    world = world_of()
    old = get_effective(world.table, world.configuration.first, world.clocks)
    configure(world, {**NIGHT, "size": 0})
    world.tick()
    before = read_ledger(world.table)
    assert follow_schedules(world.table, old, before, world.clock(), isolation())
    assert read_ledger(world.table) == before


@pytest.mark.parametrize("at_call", range(1, 30))
def test_two_schedulers_cannot_exceed_a_later_size_together(at_call: int) -> None:
    """At one of its calls, another one starts a job that runs past the change, and a second such job is submitted."""
    table = InterruptedTable()
    world = world_of(table=table)
    world.submit("a", **limited(11))
    calls = 0

    def others() -> None:
        nonlocal calls
        calls += 1
        if calls == at_call:
            world.tick()
            world.submit("b", **limited(11))

    table.before_call = others
    world.tick()
    table.before_call = lambda: None
    world.tick()
    ledger = read_ledger(table)
    assert [attempt.job_name for attempt in ledger.attempts] == ["a"]


def test_a_start_is_conditional_on_the_calendar() -> None:
    world = world_of()
    world.submit("a", **limited(11))

    def other() -> None:
        calendar = read_ledger(world.table).calendars[0]
        world.table.write([calendar.model_copy(update={"version": 99}).put(requires=_any_version(calendar))])

    report = world.interrupted_tick(other)
    assert report.rejected == 1
    assert report.started == ["a"]


def test_starts_by_one_decision_follow_each_other_on_the_calendar() -> None:
    world = world_of()
    world.submit("a", **limited(1))
    world.submit("b", **limited(1))
    report = world.tick()
    assert (report.started, report.rejected) == (["a", "b"], 0)


def test_a_start_is_not_conditional_on_the_calendars_of_other_pools() -> None:
    world = World()
    document = {"pools": {P5: {"size": 2, "schedule": [NIGHT]}, G5: {"size": 2}}}
    world.configuration.write(document)
    world.tick()
    world.submit("a", ResourceConfig=on(1, G5), **limited(11))

    def other() -> None:
        calendar = read_ledger(world.table).calendars[0]
        world.table.write([calendar.model_copy(update={"version": 99}).put(requires=_any_version(calendar))])

    report = world.interrupted_tick(other)
    assert (report.started, report.rejected) == (["a"], 0)


def _any_version(calendar: CalendarRecord) -> Any:
    return Equals("version", calendar.version)


def test_a_start_that_is_carried_out_late_is_decided_again() -> None:
    world = world_of()
    world.submit("a", **limited(10))
    world.submit("b", **limited(10))

    def later() -> None:
        world.now_s += 1

    report = world.interrupted_tick(later)
    assert report.rejected == 2
    assert report.started == ["a"]


def test_what_exceeds_the_size_is_stopped_if_the_pool_says_so_and_waits_in_its_place() -> None:
    world = world_of(atShrink="stop")
    world.submit("first", 5, Environment=LONG)
    world.submit("second", Environment=LONG)
    world.tick()
    assert world.states("first", "second") == {"first": "running", "second": "running"}
    world.pass_time(10 * HOUR_S)
    report = world.tick()
    assert report.shrunk == ["second"]
    assert world.states("second") == {"second": "stopping"}
    assert world.seen("second").job.reason.code == "PoolShrank"
    world.pass_time(300)
    job = world.seen("second").job
    assert (str(job.job_state), job.preemption_count) == ("pending", 0)
    assert job.reason.message.startswith(
        f"waits again in its old place in the queue: stopped as the pool {P5} has only"
    )
    world.check()
    world.pass_time(6 * HOUR_S)
    world.tick()
    assert world.states("first", "second") == {"first": "running", "second": "running"}


def test_an_attempt_is_not_stopped_for_the_size_if_another_one_ends_before_that_is_written() -> None:
    world = world_of(atShrink="stop")
    world.submit("first", 5, Environment={"SANDBOX_RUN_SECONDS": "35000"})
    world.submit("second", Environment=LONG)
    world.tick()
    *_, end = [each for each in world.due_events(10 * HOUR_S) if each["TrainingJobName"] == "first"]
    # It is late.
    report = world.interrupted_tick(lambda: world.on_event(end))
    assert size(world) == 1
    assert world.states("first", "second") == {"first": "completed", "second": "running"}
    assert report.shrunk == []
    world.check()


def test_a_launch_that_is_canceled_as_its_pool_shrinks_is_no_preemption() -> None:
    world = world_of({**NIGHT, "size": 0}, size=1, atShrink="stop")
    world.pass_time(10 * HOUR_S - 5)
    world.fleet.faults = Faults(throttle={"CreateTrainingJob": 50})
    world.submit("a", Environment=LONG)
    world.tick()
    assert [each.attempt_state for each in read_ledger(world.table).attempts] == ["launching"]
    for _ in range(5):
        world.pass_time(15)
        world.tick()
    job = world.seen("a").job
    assert (str(job.job_state), job.preemption_count, job.attempts[-1].reason.code) == ("pending", 0, "Requeued")
    assert job.attempts[-1].reason.message.startswith(
        f"stopped before SageMaker launched it: waits again in its old place in the queue: stopped as the pool {P5} has"
    )
    assert not read_ledger(world.table).attempts
    world.check()


@pytest.mark.parametrize("at_shrink", ["run", "stop"])
def test_a_shrink_stops_nobody_unless_the_pool_says_so(at_shrink: str) -> None:
    world = world_of({**NIGHT, "size": 0}, atShrink=at_shrink)
    configure(world, size=2)
    world.tick()
    world.submit("a", Environment=LONG)
    world.tick()
    configure(world, {**NIGHT, "size": 0}, atShrink=at_shrink)
    world.tick()
    world.pass_time(10 * HOUR_S)
    report = world.tick()
    assert report.shrunk == ([] if at_shrink == "run" else ["a"])


def test_a_forecast_knows_a_growth_that_the_next_tick_applies() -> None:
    world = world_of({"days": ["fri"], "from": "08:00", "to": "18:00", "size": 1})
    world.submit("two", ResourceConfig=on(2), StoppingCondition={"MaxRuntimeInSeconds": HOUR_S})
    world.tick()
    world.pass_time(10 * HOUR_S - 5, tick=False)
    before = start_of(world, "two")
    world.pass_time(20, tick=False)
    due = start_of(world, "two")
    assert before is not None
    assert due is not None
    assert due - before < 60_000


def test_a_forecast_knows_that_a_job_that_stops_for_the_size_waits_again() -> None:
    night = {"days": ["fri"], "from": "18:00", "to": "20:00", "size": 1}
    world = world_of(night, atShrink="stop")
    for name, priority in (("a", 5), ("b", 1)):
        world.submit(name, priority, StoppingCondition={"MaxRuntimeInSeconds": 24 * HOUR_S}, Environment=LONG)
    world.tick()
    world.submit("c", 1, StoppingCondition={"MaxRuntimeInSeconds": 24 * HOUR_S}, Environment=LONG)
    world.pass_time(10 * HOUR_S)
    world.tick()
    assert world.states("b") == {"b": "stopping"}
    while_stopping = start_of(world, "c")
    world.pass_time(200)
    world.tick()
    assert world.states("b") != {"b": "stopping"}
    afterwards = start_of(world, "c")
    assert while_stopping is not None
    assert afterwards is not None
    assert abs(while_stopping - afterwards) < 600_000


def start_of(world: World, name: str) -> int | None:
    """When a job starts by the forecast, ms."""
    found = {each.seen.job.job_name: each.start_ms for each in world.forecast_service.forecast(None, 10).jobs}
    return found[name]
