"""What a job is placed on, or what keeps it from its instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import Snapshot, WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.comparisons import MAX_COMPARISONS_BESIDE
from headway.scheduling.placement import commit
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import (
    AtLimit,
    BacksOff,
    Blocked,
    Lacking,
    OutlastsSize,
    WouldDelay,
)
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import AfterStops, AfterWarmPools, Placement, StartNow
from headway.scheduling.placement.trying import start_now, try_on, want_of
from tests.core.builders import NOW_MS, P5, held, job, reserved, snapshot, warm

APART = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})
ELSEWHERE = (job("j", warm_key="k", team="blue"), warm("w", key="k", team="red"))
LIMITED = Policy(teams={"red": Team(limit={P5: 1})})


def tried(queue: Snapshot, name: str = "j") -> Placement | Blocked:
    """What is found for one of the waiting jobs, while all others only wait."""
    return try_on(next(each for each in queue.waiting if each.name == name), Ground(queue))


def behind(head: WaitingJob, *parts: Any, **more: Any) -> Placement | Blocked:
    """What is found for the job `j` after a start was reserved for another one."""
    queue = snapshot(head, *parts, **more)
    state = PassState(queue, explain=False)
    found = try_on(head, state.ground)
    assert not isinstance(found, Placement)
    commit.keep_waiting(found, state)
    return try_on(next(each for each in queue.waiting if each.name == "j"), state.ground)


@pytest.mark.parametrize(
    ("parts", "more", "found"),
    [
        ((job("j"),), {"size": 1}, StartNow),
        ((job("j"), held("x", 9)), {"size": 1}, Lacking),
        ((job("j", 9), held("x")), {"size": 1}, AfterStops),
        ((job("j", 9), held("x", preemptible=False)), {"size": 1}, Lacking),
        ((job("j"), held("x", 9, stopping=True)), {"size": 1}, AfterStops),
        ((replace(job("j"), not_before_ms=NOW_MS + 1),), {"size": 1}, BacksOff),
        ((replace(job("j"), not_before_ms=NOW_MS),), {"size": 1}, StartNow),
        ((job("j", team="red"), held("x", 9, team="red")), {"size": 2, "policy": LIMITED}, AtLimit),
        ((job("j", limit_s=100),), {"size": 1, "sizes": {60: 0, 600: 1}}, OutlastsSize),
        ((job("j", limit_s=60),), {"size": 1, "sizes": {60: 0, 600: 1}}, StartNow),
        ((job("j", warm_key="k"), warm("w", key="k")), {"size": 1}, StartNow),
        (
            (job("j", warm_key="k", team="blue"), warm("w", key="k", team="red")),
            {"size": 2, "policy": APART},
            AfterWarmPools,
        ),
    ],
)
def test_a_job_is_placed_or_kept_from_its_instances(
    parts: tuple[Any, ...], more: dict[str, Any], found: type[object]
) -> None:
    assert isinstance(tried(snapshot(*parts, **more)), found)


def test_a_job_starts_in_the_warm_pool_that_is_kept_longest_of_those_that_keep_it_within_the_limit_of_its_team() -> (
    None
):
    policy = Policy(teams={"red": Team(limit={P5: 2}), "blue": Team()})
    mine, theirs = warm("mine", key="k", team="red"), warm("theirs", key="k", team="blue", ends_in_s=900)
    for runs, name in (("blue", "theirs"), ("red", "mine")):
        running = held("x", 9, team=runs)
        found = tried(snapshot(running, mine, theirs, job("j", team="red", warm_key="k"), size=4, policy=policy))
        assert isinstance(found, StartNow)
        assert found.warm is not None
        assert found.warm.attempt == name


def test_no_warm_pool_of_another_team_is_a_victim_before_the_job_has_all_that_it_needs() -> None:
    found = tried(snapshot(held("x", stopping=True), *ELSEWHERE, size=2, policy=APART))
    assert isinstance(found, AfterStops)
    assert found.sources.victims == ()


def test_a_start_in_a_warm_pool_names_it() -> None:
    found = tried(snapshot(job("j", warm_key="k"), warm("w", key="k"), size=1))
    assert isinstance(found, StartNow)
    assert found.warm is not None
    assert found.warm.attempt == "w"


def test_a_job_behind_a_reserved_start_starts_only_if_it_ends_before() -> None:
    head, runs = job("head", 9, count=2), held("x", 9, ends_in_s=600)
    assert isinstance(behind(head, runs, job("j", limit_s=600), size=2), StartNow)
    found = behind(head, runs, job("j", limit_s=601), size=2)
    assert isinstance(found, WouldDelay)
    assert (found.head.job.name, found.is_after_stops) == ("head", False)


def test_of_two_jobs_that_would_be_delayed_the_one_is_named_that_the_limit_runs_into() -> None:
    """`soon` starts before `j` could end, `later` only after it."""
    queue = snapshot(
        held("x", 9, ends_in_s=600),
        held("y", 9, count=2, ends_in_s=6000),
        job("later", 9, count=4, entered=0),
        job("soon", 8, count=2, entered=1),
        job("j", 1, limit_s=900),
        size=4,
        policy=Policy(reserved_heads=2),
    )
    state = PassState(queue, explain=False)
    for each in queue.waiting[:2]:
        found = try_on(each, state.ground)
        assert not isinstance(found, Placement)
        commit.keep_waiting(found, state)
    found = try_on(queue.waiting[2], state.ground)
    assert isinstance(found, WouldDelay)
    assert found.head.job.name == "soon"


def test_a_job_takes_over_a_reservation_with_which_it_starts() -> None:
    found = tried(snapshot(held("x", 9), job("j", 5, count=2), job("low", 1, count=3), reserved("low", 2), size=3))
    assert isinstance(found, StartNow)
    assert found.taken_over.reservations == ("low",)


def test_an_unlaunchable_job_takes_nothing_over() -> None:
    queue = snapshot(job("j", 5, count=2), job("low", 1, count=2), reserved("low", 2), size=2)
    ground = Ground(queue)
    assert start_now(want_of(queue.waiting[0], ground), ground, takes_over=False) is None


def test_a_job_takes_over_the_last_reservations_first_and_no_more_than_it_lacks() -> None:
    line = (job("j", 5), job("low", 2), job("lower", 1))
    found = tried(snapshot(*line, reserved("low"), reserved("lower"), size=2))
    assert isinstance(found, StartNow)
    assert found.taken_over.reservations == ("lower",)


def test_a_job_takes_nothing_over_that_does_not_let_it_start() -> None:
    found = tried(snapshot(held("x", 9), job("j", 5, count=3), job("low", 1, count=2), reserved("low", 2), size=3))
    assert isinstance(found, Lacking)


def test_a_job_takes_a_reservation_over_and_preempts_for_the_rest() -> None:
    found = tried(snapshot(held("x"), job("j", 5, count=3), job("low", 1, count=2), reserved("low", 2), size=3))
    assert isinstance(found, AfterStops)
    assert found.taken_over.reservations == ("low",)
    assert [each.attempt for each in found.sources.victims] == ["x"]


def test_a_job_preempts_before_it_takes_over_what_is_being_freed() -> None:
    freed = held("y", freed_for="low")
    found = tried(snapshot(held("x"), freed, job("j", 5), job("low", 1), size=2))
    assert isinstance(found, AfterStops)
    assert not found.taken_over
    found = tried(snapshot(held("x", 9), freed, job("j", 5), job("low", 1), size=2))
    assert isinstance(found, AfterStops)
    assert [each.name for each in found.taken_over.earmarks] == ["low"]


def test_a_job_leaves_what_is_being_freed_to_others_if_it_delays_a_start_all_the_same() -> None:
    found = behind(
        job("head", 9, count=2),
        held("x", 9),
        held("y", freed_for="low"),
        job("j", 5),
        job("low", 1),
        size=2,
    )
    assert isinstance(found, WouldDelay | Lacking)


def test_a_take_over_is_tried_on_another_ground() -> None:
    queue = snapshot(held("x", 9), job("j", 5, count=2), job("low", 1, count=3), reserved("low", 2), size=3)
    ground = Ground(queue)
    before = (dict(ground.capacity.spare), dict(ground.capacity.reserved), list(ground.capacity.owners))
    assert isinstance(try_on(queue.waiting[0], ground), StartNow)
    assert (dict(ground.capacity.spare), dict(ground.capacity.reserved), list(ground.capacity.owners)) == before


def test_a_job_at_the_limit_of_its_team_waits_behind_the_first_ones_of_its_pools_if_these_lack_instances() -> None:
    head, runs = job("head", 9, count=2), held("x", 9, team="red")
    found = behind(head, runs, held("y", 9), job("j", team="red"), size=2, policy=LIMITED)
    assert isinstance(found, Lacking)
    assert not isinstance(found, AtLimit)
    found = behind(head, runs, job("j", team="red"), size=2, policy=LIMITED)
    assert isinstance(found, AtLimit)
    assert found.limits == {f"{P5}@team red": 1}


@pytest.mark.parametrize(
    ("made", "found"), [(MAX_COMPARISONS_BESIDE, AfterStops), (MAX_COMPARISONS_BESIDE + 1, WouldDelay)]
)
def test_victims_beside_free_instances_that_are_kept_for_a_job_ahead_are_looked_for_within_a_bound(
    made: int, found: type[object]
) -> None:
    """`head` counts on what is free and the end of `y`, so that `j` may have `x` stopped, but not what is free."""
    head = job("head", 9, count=3, preempts=False)
    queue = snapshot(head, held("x"), held("y", 9, ends_in_s=600), job("j", 5), size=4)
    state = PassState(queue, explain=False)
    obstacle = try_on(head, state.ground)
    assert not isinstance(obstacle, Placement)
    commit.keep_waiting(obstacle, state)
    comparisons = state.ground.comparisons
    # What is compared for them counts together, beside all that is compared.
    counts = []
    for _ in range(3):
        assert isinstance(try_on(queue.waiting[1], state.ground), AfterStops)
        counts.append(comparisons.beside)
    # The first one looks at more, which is known from then on.
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0
    assert comparisons.made > comparisons.beside
    comparisons.beside = made
    assert isinstance(try_on(queue.waiting[1], state.ground), found)
