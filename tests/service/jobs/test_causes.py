"""The reason of a job that waits for others says what these wait for, as their own reasons do."""

from __future__ import annotations

from itertools import pairwise

import pytest

from headway.lifecycle import WAITING
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.jobs.position import MAX_CAUSES
from headway_service.store.job_filter import JobFilter
from tests.service.world import P5, ROOT, World, on, request


@pytest.fixture
def world() -> World:
    return World(pools={P5: 2})


def submit(world: World, name: str, *after: str, priority: int = 0) -> None:
    depends_on = [{"job": each} for each in after] or None
    world.submitter.submit(Submission(request=request(name, priority), depends_on=depends_on), ROOT)


def said(world: World, name: str) -> str:
    seen = world.seen(name)
    assert seen.reason.code is ReasonCode.WAITS_FOR_JOBS
    return seen.reason.message


def own(world: World, name: str) -> str:
    return world.seen(name).reason.message


BEFORE = "waits until `first` has completed; then it enters the queue"


@pytest.mark.parametrize("state", ["held", "paused", "behind"])
def test_the_reason_says_what_the_other_job_waits_for(world: World, state: str) -> None:
    submit(world, "first")
    submit(world, "second", "first", priority=9)
    match state:
        case "held":
            world.commands.hold("first", ROOT)
        case "paused":
            world.container.pool_operations.pause(P5, "user/ada", "repair")
        case _:
            world.submit("ahead", 5, ResourceConfig=on(2))
            world.tick()
    assert said(world, "second") == f"{BEFORE}; `first` waits now, too: {own(world, 'first')}"
    told = {"held": "held on request of root", "paused": "repair", "behind": "ahead"}[state]
    assert told in said(world, "second")
    assert world.forecast_service.explain("second").seen.reason.message == said(world, "second")


def test_nothing_is_added_for_a_job_that_runs(world: World) -> None:
    submit(world, "first")
    submit(world, "second", "first")
    world.tick()
    assert said(world, "second") == BEFORE


def test_nothing_is_added_for_a_job_that_starts_now(world: World) -> None:
    submit(world, "first")
    submit(world, "second", "first")
    assert said(world, "second") == BEFORE


def test_a_chain_is_followed_to_what_keeps_it_up_to_a_limit(world: World) -> None:
    names = [f"j{number}" for number in range(MAX_CAUSES + 2)]
    submit(world, names[0])
    for before, name in pairwise(names):
        submit(world, name, before)
    world.commands.hold(names[0], ROOT)
    assert "held on request" in said(world, names[MAX_CAUSES])
    assert world.seen(names[MAX_CAUSES]).reason.jobs[0] == names[MAX_CAUSES - 1]
    assert "held on request" not in said(world, names[MAX_CAUSES + 1])


def test_of_several_jobs_each_is_explained(world: World) -> None:
    for name in ("a", "b"):
        submit(world, name)
        world.commands.hold(name, ROOT)
    submit(world, "last", "a", "b")
    for name in ("a", "b"):
        assert f"`{name}` waits now, too: {own(world, name)}" in said(world, "last")


def test_a_listing_reads_no_more_than_before(world: World) -> None:
    submit(world, "first")
    world.commands.hold("first", ROOT)
    submit(world, "second", "first")
    listed, _ = world.queries.jobs(JobFilter(states=WAITING), 9, None)
    assert {each.job.job_name: each.reason.message for each in listed}["second"] == BEFORE
