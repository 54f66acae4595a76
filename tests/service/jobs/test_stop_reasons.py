"""The reason that a caller gives for a stop is in the reasons of the job."""

from __future__ import annotations

import pytest

from headway_service.events.job_events import job_event
from headway_service.store.records.capacity.attempt import StopCause
from headway_service.store.repository import find_attempt, get_job
from tests.service.world import ROOT, World


@pytest.fixture
def world() -> World:
    return World()


def messages(world: World) -> list[str]:
    return [step.reason.message for step in world.seen("a").job.history]


def test_a_waiting_job_shows_the_reason_of_its_stop(world: World) -> None:
    world.submit("a")
    before = get_job(world.table, "a")
    seen, _ = world.commands.stop("a", ROOT, "wrong data")
    assert seen.reason.message == "stopped by root while it waited: wrong data"
    assert messages(world)[-1] == seen.reason.message
    event = job_event(get_job(world.table, "a"), before)
    assert event is not None
    assert event.message == seen.reason.message


def test_a_running_job_shows_the_reason_while_it_stops_and_after_its_end(world: World) -> None:
    world.submit("a")
    world.tick()
    seen, _ = world.commands.stop("a", ROOT, "wrong data")
    assert seen.reason.message == "stop requested by root: wrong data; its instances are freed when it has stopped"
    world.tick()
    world.pass_time(150)
    ended = world.seen("a")
    assert (ended.job.job_state, ended.reason.message) == ("stopped", "stopped by root: wrong data")
    assert messages(world)[-2:] == [seen.reason.message, ended.reason.message]


@pytest.mark.parametrize("why", ["wrong data", ""])
def test_a_job_that_is_stopped_before_its_launch_shows_the_reason(world: World, why: str) -> None:
    world.submit("a")
    world.table.write(world.intent_to_start("a").writes)
    world.commands.stop("a", ROOT, why)
    # Longer than the lease of the launch, and than SageMaker may take to show it.
    world.now_s += 200
    world.tick()
    wanted = f"stopped by root before SageMaker launched it{': ' if why else ''}{why}"
    assert (world.seen("a").job.job_state, world.seen("a").reason.message) == ("stopped", wanted)


def test_the_reason_of_the_first_stop_counts(world: World) -> None:
    world.submit("a")
    world.tick()
    world.commands.stop("a", ROOT, "first")
    world.commands.stop("a", ROOT, "second")
    assert "root: first;" in world.seen("a").reason.message
    world.tick()
    world.pass_time(150)
    assert world.seen("a").reason.message == "stopped by root: first"


def test_a_stop_without_a_reason_does_not_repeat_the_policys_reason_for_an_earlier_stop(world: World) -> None:
    world.submit("a")
    world.tick()
    attempt = find_attempt(world.table, "a")
    assert attempt is not None
    changes = {"stop_cause": StopCause.REQUEUE, "stop_reason": "low utilization", "version": attempt.version + 1}
    world.table.write([attempt.model_copy(update=changes).put(was=attempt.version)])
    world.commands.stop("a", ROOT)
    stopping = find_attempt(world.table, "a")
    assert stopping is not None
    assert (stopping.stop_cause, stopping.stop_reason) == (StopCause.REQUEST, "")
