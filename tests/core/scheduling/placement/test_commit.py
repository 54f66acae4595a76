"""What changes when a job gets its instances, or continues to wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import Snapshot
from headway.plan import DelayedPreemption
from headway.policy import Policy, Team
from headway.scheduling.placement import commit
from headway.scheduling.placement.obstacles import BacksOff, Lacking
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import Placement
from headway.scheduling.placement.trying import try_on
from tests.core.builders import NOW_MS, P5, held, job, reserved, snapshot, started_on, warm


def granted(queue: Snapshot) -> PassState:
    """The state after its first job got its instances."""
    state = PassState(queue, explain=True)
    found = try_on(queue.waiting[0], state.ground)
    assert isinstance(found, Placement)
    commit.grant(found, state)
    return state


def test_a_start_takes_what_is_free_and_is_in_the_plan() -> None:
    state = granted(snapshot(job("j", count=2), size=3))
    assert state.ground.capacity.spare == {P5: 1}
    assert started_on(state.plan()) == {"j": {P5: 2}}


def test_a_start_takes_reservations_over_that_it_needs() -> None:
    state = granted(snapshot(job("j", 5), job("low"), reserved("low"), size=1))
    assert [(type(each).__name__, each.job) for each in state.plan().actions] == [("Release", "low"), ("Start", "j")]
    assert state.ground.capacity.reserved == {}


def test_a_start_in_a_warm_pool_lends_its_instances() -> None:
    state = granted(snapshot(job("j", warm_key="k"), warm("w", key="k"), size=1))
    assert state.ground.capacity.lent == {P5: 1}
    assert not state.ground.capacity.allocations.warm


def test_a_job_that_waits_for_stops_keeps_what_is_free_from_others() -> None:
    state = granted(snapshot(held("x"), job("j", 5, count=2), size=2))
    assert state.ground.capacity.spare == {P5: 0}
    (preempted,) = state.plan().actions
    assert (preempted.job, getattr(preempted, "freed", None)) == ("x", {P5: 1})
    (wait,) = state.plan().waits
    assert wait.sentence == f"starts on 2 {P5} as soon as `x` has stopped"


def test_a_preemption_that_waits_for_a_checkpoint_stops_nothing_yet() -> None:
    policy = Policy(wait_for_checkpoint_ms=600_000)
    running = held("x", since=0, checkpoints=True, every=600_000, trains_since=500_000)
    state = granted(snapshot(running, job("j", 5, entered=NOW_MS), size=1, policy=policy))
    plan = state.plan()
    assert not plan.actions
    (delayed,) = plan.delayed
    assert delayed == DelayedPreemption(for_job="j", attempts=("x",), at_ms=delayed.at_ms)
    assert not state.ground.capacity.allocations.live


@pytest.mark.parametrize(
    ("parts", "released"),
    [
        ((reserved("gone"),), True),
        ((reserved("j"), job("j")), False),
        ((reserved("j"), job("j", count=3)), True),
    ],
)
def test_a_reservation_that_nobody_can_use_is_released(parts: tuple[Any, ...], *, released: bool) -> None:
    state = PassState(snapshot(*parts, size=2), explain=False)
    commit.release_leftovers(state)
    assert bool(state.releases) is released


@pytest.mark.parametrize(("limit_s", "released"), [(60, False), (61, True)])
def test_a_reservation_that_outlasts_its_pool_is_released_in_the_turn_of_its_job(
    limit_s: int, *, released: bool
) -> None:
    queue = snapshot(reserved("j"), job("j", limit_s=limit_s), size=1, sizes={60: 0, 600: 1})
    state = PassState(queue, explain=False)
    commit.count_promises(queue.waiting[0], state)
    assert bool(state.releases) is released


def test_only_the_first_jobs_of_a_combination_get_a_reserved_start() -> None:
    queue = snapshot(held("x", 9, ends_in_s=60), job("first", 5), job("next", 4), size=1)
    state = PassState(queue, explain=True)
    starts = []
    for each in queue.waiting:
        found = try_on(each, state.ground)
        assert isinstance(found, Lacking)
        starts.append(commit.reserve(found, state))
    assert [start and start.start_ms for start in starts] == [NOW_MS + 60_000, None]


def test_a_start_is_told_no_sooner_than_what_is_being_freed_has_stopped() -> None:
    queue = snapshot(held("x", 9, stopping=True), held("y", 9, ends_in_s=60), job("j", 5, count=2), size=2)
    state = PassState(queue, explain=True)
    found = try_on(queue.waiting[0], state.ground)
    assert isinstance(found, Lacking)
    start = commit.reserve(found, state)
    assert start is not None
    assert (start.start_ms, start.told_ms) == (NOW_MS + 60_000, NOW_MS + 120_000)


def test_a_warm_pool_that_has_to_be_gone_before_a_reserved_start_leaves_no_slack() -> None:
    """`j` needs none of its instances, but SageMaker could launch it there."""
    policy = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})
    waits = replace(job("j", 5, count=3, team="blue", warm_key="k"), not_before_ms=NOW_MS + 5000)
    queue = snapshot(warm("w", count=3, key="k", team="red"), waits, size=6, policy=policy)
    state = PassState(queue, explain=False)
    found = try_on(waits, state.ground)
    assert isinstance(found, BacksOff)
    start = commit.reserve(found, state)
    assert start is not None
    assert (start.start_ms, start.lacking, start.slack) == (NOW_MS + 5000, {}, {P5: 0})


@pytest.mark.parametrize(("ends_in_s", "start_ms"), [(None, None), (600, NOW_MS + 600_000)])
def test_a_job_that_needs_no_more_starts_only_when_its_pool_that_was_shrunk_below_its_use_has_shrunk(
    ends_in_s: int | None, start_ms: int | None
) -> None:
    queue = snapshot(held("x", 9, count=2, ends_in_s=ends_in_s), reserved("j"), job("j", 5), size=2)
    state = PassState(queue, explain=False)
    found = try_on(queue.waiting[0], state.ground)
    assert isinstance(found, Lacking)
    start = commit.reserve(found, state)
    assert start is not None
    assert (found.need, start.start_ms) == ({}, start_ms)
