"""The run times with which jobs would start now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.placement import commit
from headway.scheduling.placement.obstacles import WouldDelay
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import Placement
from headway.scheduling.placement.trying import try_on
from tests.core.builders import NOW_MS, changed, held, job, snapshot, warm

HEAD = job("head", 9, count=3)
SHORT_HEAD = job("head", 9, count=3, limit_s=60)


def hinted(*parts: Any, size: int = 3, **more: Any) -> int | None:
    """The longest run time with which the job `j` would start now, behind all others."""
    queue = snapshot(*parts, size=size, **more)
    state = PassState(queue, explain=False)
    for each in queue.waiting:
        found = try_on(each, state.ground)
        assert not isinstance(found, Placement)
        if each.name == "j":
            return state.hints.shorter_s(found)
        commit.keep_waiting(found, state)
    raise AssertionError("there is no job `j`")


def allowed(allowance_ms: int | None, **more: Any) -> WaitingJob:
    return changed(job("j", **more), allowance_ms=allowance_ms)


@pytest.mark.parametrize(
    ("parts", "more", "shorter_s"),
    [
        ((held("x", 9, ends_in_s=600), HEAD, job("j")), {}, 600),
        ((held("x", 9, ends_in_s=600), HEAD, allowed(30_000)), {}, 570),
        ((held("x", 9, ends_in_s=600), HEAD, allowed(598_500)), {}, 1),
        ((held("x", 9, ends_in_s=600), HEAD, allowed(599_001)), {}, None),
        ((held("x", 9, ends_in_s=600), HEAD, allowed(700_000)), {}, None),
        # It is of a request that has no run time.
        ((held("x", 9, ends_in_s=600), HEAD, allowed(None)), {}, None),
        # It lacks instances, or they may be wanted at any time.
        ((held("x", 9, count=3, ends_in_s=600), HEAD, job("j")), {}, None),
        ((held("x", 9), HEAD, job("j")), {}, None),
        # A pool becomes smaller before or after the start that it would delay.
        ((job("j"),), {"sizes": {300: 0, 900: 3}}, 300),
        ((job("j", limit_s=400),), {"sizes": {300: 0, 900: 3}}, 300),
        ((allowed(30_000),), {"sizes": {300: 0, 900: 3}}, 270),
        ((held("x", 9, ends_in_s=600), SHORT_HEAD, job("j")), {"sizes": {700: 0, 900: 3}}, 600),
        ((held("x", 9, ends_in_s=600), SHORT_HEAD, job("j")), {"sizes": {300: 1, 500: 3}}, 300),
        # Another job would be delayed all the same.
        ((held("x", 9, ends_in_s=600), HEAD, replace(job("j"), not_before_ms=NOW_MS + 1)), {}, None),
    ],
)
def test_a_hint_is_the_longest_run_time_that_ends_before_what_the_job_runs_into(
    parts: tuple[Any, ...], more: dict[str, Any], shorter_s: int | None
) -> None:
    assert hinted(*parts, **more) == shorter_s


def test_a_job_that_would_wait_for_a_warm_pool_of_another_team_gets_no_hint() -> None:
    policy = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})
    parts = (held("x", 9, ends_in_s=600), warm("w", key="k", team="red", ends_in_s=900), job("head", 9, count=4))
    for warm_key, shorter_s in (("", 600), ("k", None)):
        waits = job("j", warm_key=warm_key, team="blue")
        assert hinted(*parts, waits, size=4, policy=policy) == shorter_s


def test_jobs_share_a_hint_only_if_they_are_alike() -> None:
    policy = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})
    head = job("head", 9, count=4, limit_s=60)
    elsewhere = warm("w", key="k", team="red", ends_in_s=900)
    calendar: dict[str, Any] = {"sizes": {300: 1, 500: 4}, "stops": True, "any_job": False}
    queue = snapshot(held("x", 9, ends_in_s=600), elsewhere, head, size=4, policy=policy, **calendar)
    state = PassState(queue, explain=False)
    found = try_on(head, state.ground)
    assert not isinstance(found, Placement)
    start = commit.reserve(found, state)
    assert start is not None

    def hint_of(**more: Any) -> int | None:
        waits = changed(job("j"), team="blue", **more)
        return state.hints.shorter_s(WouldDelay(job=waits, need=waits.demand, head=start))

    for _ in range(2):
        assert hint_of() == 300
        assert hint_of(allowance_ms=60_000) == 240
        assert hint_of(warm_key="k") is None
        assert hint_of(stops_for_size=True) == 600
