"""The order `shortest-remaining` over the whole service layer: what is left is stored, and equals give way by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.job_terms import Standing
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions.job import _standing_after
from tests.service.scheduling.test_teams import configure, world_of
from tests.service.world import DAY_S, ROOT, World, on

HOUR_S = 3600
#: What a limit has in addition, for the start and the stop of an attempt.
ALLOWANCE_S = 1800
CHECKPOINTS = {"S3Uri": "s3://bucket/checkpoints"}
STOPPED = TrainingJobStatus(attempt="a", status="Stopped", secondary_status="Stopped", modified_ms=10_000)


def world_by_remaining() -> World:
    return world_of({}, priority={"order": "shortest-remaining"})


def submit(world: World, name: str, hours: int, count: int = 4, *, checkpoints: bool = True, **more: Any) -> None:
    if checkpoints:
        more["CheckpointConfig"] = CHECKPOINTS
    limit = {"MaxRuntimeInSeconds": hours * HOUR_S}
    more["Environment"] = {"SANDBOX_RUN_SECONDS": str(hours * HOUR_S)}
    world.submit(name, ResourceConfig=on(count), StoppingCondition=limit, **more)
    world.now_s += 1


def stored(world: World, name: str) -> JobRecord:
    return JobRecord.parse(world.table.get(JobRecord.key(name)) or {})


def test_a_job_of_which_less_is_left_preempts_an_equal_which_then_has_less_left_as_well() -> None:
    world = world_by_remaining()
    submit(world, "long", 20)
    world.tick()
    before = stored(world, "long")
    assert before.left_ms == (20 * HOUR_S + ALLOWANCE_S) * 1000
    world.pass_time(5 * HOUR_S)
    submit(world, "brief", 2)
    world.tick()
    world.check()
    assert world.states("long", "brief") == {"long": "stopping", "brief": "pending"}
    item = world.table.get(AttemptRecord.key(str(stored(world, "long").live_attempt)))
    assert item is not None
    assert AttemptRecord.parse(item).allocation().terms.standing.left_ms == before.left_ms
    world.pass_time(130)
    world.check()
    assert world.states("long", "brief") == {"long": "preempted", "brief": "running"}
    after = stored(world, "long")
    assert after.left_ms is not None
    # Five hours less ten minutes, which may be lost since the last checkpoint, and the time of the start.
    kept_s = (before.left_ms - after.left_ms) // 1000
    assert 5 * HOUR_S - 1800 < kept_s <= 5 * HOUR_S - 600 + 1
    assert after.handicap_ms == before.handicap_ms * after.left_ms // before.left_ms
    assert after.queue_entries()[0].waiting().terms.standing.left_ms == after.left_ms
    # It ranks by what is left: before a job of 19 hours that has none done.
    submit(world, "other", 19)
    assert [world.seen(name).place for name in ("long", "other")] == [1, 2]


@pytest.mark.parametrize("checkpoints", [True, False])
def test_only_a_job_that_writes_checkpoints_gives_way_to_an_equal(*, checkpoints: bool) -> None:
    world = world_by_remaining()
    submit(world, "long", 20, checkpoints=checkpoints)
    world.tick()
    world.pass_time(300)
    submit(world, "brief", 2)
    world.tick()
    assert world.states("long") == {"long": "stopping" if checkpoints else "running"}


def test_a_job_without_checkpoints_has_as_much_left_after_it_was_preempted_for_a_higher_priority() -> None:
    world = world_by_remaining()
    submit(world, "long", 20, checkpoints=False)
    world.tick()
    before = stored(world, "long")
    world.pass_time(HOUR_S)
    world.submit("urgent", 9, ResourceConfig=on(4))
    world.tick()
    world.pass_time(130)
    after = stored(world, "long")
    assert (after.job_state, after.left_ms, after.handicap_ms) == ("preempted", before.left_ms, before.handicap_ms)


@pytest.mark.parametrize(
    ("lost_ms", "stopping_since_ms", "trained_ms", "kept_ms"),
    [
        (0, None, None, 9000),
        (2000, None, None, 7000),
        (2000, 8500, None, 5500),
        # It held its instances for some time before it trained.
        (2000, 8500, 5000, 3000),
        # It trained on while it stopped.
        (2000, 8500, 8900, 5500),
        (9000, 8500, 8900, 0),
        (0, None, 0, 0),
    ],
)
def test_what_is_kept_of_an_attempt_is_what_it_trained_before_its_stop_and_has_not_lost(
    lost_ms: int, stopping_since_ms: int | None, trained_ms: int | None, kept_ms: int
) -> None:
    _, attempt = of_an_hour(left_ms=3_600_000, handicap_ms=36_000_000)
    attempt = attempt.model_copy(update={"stopping_since_ms": stopping_since_ms})
    seen = replace(STOPPED, trained_ms=trained_ms)
    after = Standing(left_ms=3_600_000 - kept_ms, handicap_ms=10 * (3_600_000 - kept_ms))
    assert _standing_after(attempt, seen, lost_ms, 10_000) == after
    never_launched = Standing(left_ms=3_600_000, handicap_ms=36_000_000)
    assert _standing_after(attempt, None, lost_ms, 10_000) == never_launched


def test_a_job_of_another_order_keeps_its_handicap() -> None:
    _, attempt = of_an_hour(left_ms=None, handicap_ms=36_000_000)
    assert _standing_after(attempt, STOPPED, 0, 9000) == Standing(handicap_ms=36_000_000)


def of_an_hour(**update: int | None) -> tuple[JobRecord, AttemptRecord]:
    """A job and its attempt, whose instances are held from the time 1000 on. Both are updated."""
    world = world_of()
    submit(world, "a", 1)
    world.tick()
    job = stored(world, "a")
    attempt = AttemptRecord.parse(world.table.get(AttemptRecord.key(str(job.live_attempt))) or {})
    return job.model_copy(update=update), attempt.model_copy(update={"since_ms": 1000, **update})


@pytest.mark.parametrize("order", ["fifo", "short"])
def test_a_switch_to_the_order_preempts_no_job_and_moves_none(order: str) -> None:
    world = world_of({}, priority={"order": order})
    submit(world, "long", 20)
    world.tick()
    world.pass_time(300)
    submit(world, "brief", 2)
    configure(world, {}, priority={"order": "shortest-remaining"})
    submit(world, "new", 1)
    world.pass_time(300)
    assert world.states("long", "brief", "new") == {"long": "running", "brief": "pending", "new": "pending"}
    assert stored(world, "brief").left_ms is None


def test_a_switch_to_another_order_ends_preemptions_among_equals_and_moves_no_job() -> None:
    world = world_by_remaining()
    submit(world, "long", 20)
    world.tick()
    world.pass_time(300)
    configure(world, {}, priority={"order": "fifo"})
    submit(world, "first", 2)
    submit(world, "second", 1)
    world.pass_time(300)
    assert world.states("long") == {"long": "running"}
    assert [world.seen(name).place for name in ("first", "second")] == [1, 2]


def test_the_cap_on_preemptions_of_a_job_holds_among_equals() -> None:
    world = world_of({}, priority={"order": "shortest-remaining"}, preemption={"maxPerJob": 1})
    submit(world, "long", 20)
    world.tick()
    for number, preempted in enumerate([True, False]):
        world.pass_time(300)
        submit(world, f"brief{number}", 1)
        world.tick()
        assert (world.states("long")["long"] == "stopping") is preempted
        world.pass_time(130)
        if preempted:
            world.commands.stop(f"brief{number}", ROOT)
            world.pass_time(130)
            world.pass_time(130)


def test_a_limit_that_is_not_given_counts_as_what_sagemaker_gives_a_job_by_default() -> None:
    world = world_by_remaining()
    world.submit("a")
    assert stored(world, "a").left_ms == stored(world, "a").limit_ms
    assert stored(world, "a").left_ms == (DAY_S + ALLOWANCE_S) * 1000
