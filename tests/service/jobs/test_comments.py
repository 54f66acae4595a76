"""A job has a comment in each state; no decision depends on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway_service.errors import JobNotFound
from headway_service.events.job_events import job_event
from headway_service.store.job_filter import JobFilter
from headway_service.store.repository import get_job
from tests.service.world import ROOT, World


@pytest.fixture
def world() -> World:
    world = World()
    world.submit("a")
    return world


def run(world: World) -> None:
    world.tick()


def stop_running(world: World) -> None:
    world.tick()
    world.commands.stop("a", ROOT)


def complete(world: World) -> None:
    world.tick()
    world.pass_time(2000)


def hold(world: World) -> None:
    world.commands.hold("a", ROOT)


@pytest.mark.parametrize(
    ("bring", "state"),
    [
        (lambda _: None, "pending"),
        (hold, "pending"),
        (run, "running"),
        (stop_running, "stopping"),
        (complete, "completed"),
    ],
    ids=["waiting", "held", "running", "stopping", "ended"],
)
def test_a_comment_is_set_changed_and_removed_in_each_state(
    world: World, bring: Callable[[World], object], state: str
) -> None:
    bring(world)
    before = get_job(world.table, "a")
    assert before.job_state == state
    for text in ("first", "second", ""):
        seen = world.commands.set_comment("a", text, ROOT)
        after = get_job(world.table, "a")
        assert seen.job.comment == after.comment == text
        assert job_event(after, before) is None, "nothing happened to the job"
        assert after.model_copy(update={"comment": before.comment, "version": before.version}) == before
    world.check()


def test_a_listing_has_the_comment(world: World) -> None:
    world.commands.set_comment("a", "first", ROOT)
    page, _ = world.queries.jobs(JobFilter(states=frozenset({world.seen("a").job.job_state})), 10, None)
    assert [seen.job.comment for seen in page] == ["first"]


def test_a_comment_wakes_no_scheduler_and_does_not_prevent_a_start(world: World) -> None:
    world.wakes.clear()
    report = world.interrupted_tick(lambda: world.commands.set_comment("a", "first", ROOT))
    assert (world.wakes, report.started) == ([], ["a"])
    assert world.seen("a").job.comment == "first"


def test_there_is_no_comment_on_an_unknown_job(world: World) -> None:
    with pytest.raises(JobNotFound):
        world.commands.set_comment("nobody", "x", ROOT)
