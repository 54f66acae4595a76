"""A waiting job with alternatives is decided on one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from headway.errors import InvariantViolation
from headway.forecasting.forecast import forecast
from headway.model import Alternative, Pause, Reservation, Snapshot, WaitingJob
from headway.plan import Plan, Start
from headway.policy import Policy, Team
from headway.reasons import ReasonCode
from headway.scheduling.alternatives import choices, chosen
from headway.scheduling.invariants import check_plan
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.memo import Memo
from headway.scheduling.placement.obstacles import Lacking
from headway.scheduling.placement.preferences import choose
from headway.scheduling.scheduler import schedule
from tests.core.builders import (
    G5,
    NOW_MS,
    P5,
    changed,
    code_of,
    held,
    job,
    preemptions,
    reason_of,
    reserved,
    snapshot,
    started_on,
    starts,
    starts_warm,
    warm,
    warm_releases,
)

CPU = "ml.c5.xlarge"
POOLS = {P5: 2, G5: 4, CPU: 8}


def either(
    name: str = "w", priority: int = 5, *, wait_s: int = 0, demands: Mapping[str, int] | None = None, **more: Any
) -> WaitingJob:
    """A job that prefers 2 P5 to 4 G5 to 8 CPU, each for an hour at most."""
    (first, *others) = (demands or {P5: 2, G5: 4, CPU: 8}).items()
    alternatives = tuple(Alternative(demand={pool: count}, limit_ms=3_600_000) for pool, count in others)
    plain = job(name, priority, entered=NOW_MS, pool=first[0], count=first[1], limit_s=3600, **more)
    return replace(plain, alternatives=alternatives, wait_at_most_ms=wait_s * 1000)


def taken(pool: str, name: str = "x", priority: int = 9, **more: Any) -> Any:
    return held(name, priority, pool=pool, **more)


@pytest.mark.parametrize(
    ("parts", "on"),
    [
        ((), {P5: 2}),
        ((taken(P5),), {G5: 4}),
        ((taken(P5), taken(G5, "y")), {CPU: 8}),
        ((taken(P5), taken(G5, "y"), taken(CPU, "z")), None),
        # Attempts could be stopped for the first preference, but the job starts at once on another one.
        ((taken(P5, priority=0),), {G5: 4}),
    ],
)
def test_it_starts_on_the_first_alternative_that_is_free(parts: tuple[Any, ...], on: dict[str, int] | None) -> None:
    found = snapshot(*parts, either(), pools=POOLS)
    plan = schedule(found)
    check_plan(found, plan)
    assert started_on(plan) == ({"w": on} if on else {})


def test_it_delays_no_reserved_start_on_any_alternative() -> None:
    head = job("head", 9, pool=G5, count=4)
    # One of lower priority runs elsewhere, so it is not known at once that nobody can be stopped for the job.
    parts = (taken(P5), held("y", 9, pool=G5, ends_in_s=600), held("m", 0, pool="ml.m5.large"), head)
    waiting = either(demands={P5: 2, G5: 2, CPU: 8})
    assert started_on(schedule(snapshot(*parts, waiting, pools={**POOLS, "ml.m5.large": 1}))) == {"w": {CPU: 8}}


def test_it_takes_nothing_that_a_job_ahead_counts_on() -> None:
    # What is free of G5 is for the job ahead, as soon as x has stopped.
    ahead = job("ahead", 9, pool=G5, count=4)
    parts = (taken(P5), held("y", 0, pool=G5), ahead)
    waiting = either(demands={P5: 2, G5: 2, CPU: 8})
    plan = schedule(snapshot(*parts, waiting, pools=POOLS))
    assert (preemptions(plan), started_on(plan)) == ([("y", "ahead")], {"w": {CPU: 8}})


def test_no_attempt_is_stopped_for_an_alternative_on_which_a_job_ahead_would_be_delayed() -> None:
    running = (held("x", 0), held("x2", 9, ends_in_s=600), held("y", 0, pool=G5, count=4))
    parts = (*running, job("ahead", 9, count=2), either(demands={P5: 1, G5: 4}))
    assert preemptions(schedule(snapshot(*parts, pools=POOLS))) == [("y", "w")]


def test_what_is_over_the_size_of_a_pool_has_to_be_freed_too() -> None:
    running = (held("x1", 0), held("x2", 0), held("x3", 9), held("y", 0, pool=G5, count=4))
    assert preemptions(schedule(snapshot(*running, either(demands={P5: 2, G5: 4}), pools=POOLS))) == [("y", "w")]


def test_it_counts_on_what_is_stopping_before_it_has_an_attempt_stopped() -> None:
    running = (held("x", 0, count=2, stopping=True), held("y", 0, pool=G5, count=4))
    plan = schedule(snapshot(*running, either(demands={P5: 2, G5: 4}), pools=POOLS))
    assert (plan.actions, code_of(plan, "w")) == ((), "WaitsForFreedInstances")


def test_attempts_are_stopped_for_it_although_another_one_of_its_pools_is_paused() -> None:
    pause = Pause(by="ada", since_ms=0, reason="repair")
    waiting = either(demands={P5: 2, G5: 4})
    found = replace(snapshot(held("y", 0, pool=G5, count=4), waiting, pools=POOLS), pauses={P5: pause})
    plan = schedule(found)
    check_plan(found, plan)
    assert preemptions(plan) == [("y", "w")]
    with pytest.raises(InvariantViolation, match="would start on what is paused"):
        check_plan(replace(found, pauses={G5: pause}), plan)


def test_it_stops_attempts_for_the_first_preference_for_which_that_is_enough() -> None:
    blocked = taken(CPU, "z")
    for parts, stopped in (
        ((taken(P5, priority=0), taken(G5, "y", 0), blocked), ["x"]),
        ((taken(P5), taken(G5, "y", 0), blocked), ["y"]),
    ):
        found = snapshot(*parts, either(), pools=POOLS)
        plan = schedule(found)
        check_plan(found, plan)
        assert preemptions(plan) == [(name, "w") for name in stopped]


@pytest.mark.parametrize(
    "promise",
    [
        reserved("w", 2, G5),
        held("z", 0, pool=G5, count=2, freed_for="w"),
        # It was stopped for a team's limit, so no instances are earmarked.
        replace(held("z", 0, pool=G5, count=2, freed_for="w"), freed={}),
    ],
)
def test_it_stays_on_the_alternative_that_instances_are_reserved_or_freed_for(promise: Any) -> None:
    found = snapshot(promise, taken(G5, count=2), either(), pools=POOLS)
    assert starts(schedule(found)) == []
    found = snapshot(promise, either(), pools=POOLS)
    assert started_on(schedule(found)) == ({"w": {G5: 4}} if isinstance(promise, Reservation) else {})


def test_a_blocked_job_has_one_reserved_start_on_the_alternative_that_is_free_first() -> None:
    parts = (
        taken(P5, ends_in_s=900),
        taken(G5, "y", ends_in_s=600),
        taken(CPU, "z", ends_in_s=600),
    )
    last = (job("p5", 1, pool=P5, count=1), job("g5", 1, pool=G5, count=1), job("cpu", 1, pool=CPU, count=1))
    plan = schedule(snapshot(*parts, either(), *last, pools=POOLS))
    (wait,) = [each for each in plan.waits if each.job == "w"]
    assert wait.start_by_ms == NOW_MS + 600_000
    # Of two at the same time it is the preferred one; in the other pools jobs without a limit pass.
    assert starts(plan) == ["cpu", "p5"]
    assert code_of(plan, "g5") == "WouldDelay"


@pytest.mark.parametrize(
    ("wait_s", "ends_in_s", "entered_before_s", "waits"),
    [(600, 600, 0, True), (599, 600, 0, False), (600, 600, 1, False), (0, 600, 0, False), (600, None, 0, False)],
)
def test_it_waits_for_a_better_alternative_that_is_proven_to_be_free_in_time(
    wait_s: int, ends_in_s: int | None, entered_before_s: int, *, waits: bool
) -> None:
    waiting = either(wait_s=wait_s)
    waiting = changed(waiting, entry_time_ms=NOW_MS - entered_before_s * 1000)
    plan = schedule(snapshot(taken(P5, ends_in_s=ends_in_s), waiting, pools=POOLS))
    assert started_on(plan) == ({} if waits else {"w": {G5: 4}})
    if waits:
        assert code_of(plan, "w") == "WaitsForBetterAlternative"
        assert reason_of(plan, "w") == (
            "waits for 2 ml.p5.48xlarge, which it gets by 00:26 UTC, as it prefers that to 4 ml.g5.xlarge, "
            "which are free; it takes a start that is proven by 00:26 UTC at the latest"
        )


def test_while_it_waits_for_a_better_one_nothing_is_stopped_for_it_and_nobody_delays_it() -> None:
    running = taken(P5, priority=0, ends_in_s=600)
    waiting = either(wait_s=600)
    plan = schedule(snapshot(running, waiting, job("last", 1, pool=P5), job("other", 1, pool=G5), pools=POOLS))
    assert preemptions(plan) == []
    assert starts(plan) == ["other"]


def test_it_does_not_wait_for_a_better_one_that_attempts_would_have_to_be_stopped_for() -> None:
    running = taken(P5, priority=0, ends_in_s=9000)
    assert started_on(schedule(snapshot(running, either(wait_s=600), pools=POOLS))) == {"w": {G5: 4}}


def test_a_better_one_beyond_the_depth_of_reserved_starts_is_not_waited_for() -> None:
    head = job("head", 9, pool=P5, count=2, limit_s=60)
    # Something is reserved for another job, so nothing is cut short.
    other = (reserved("other", 1, "ml.m5.large"), job("other", 0, pool="ml.m5.large", count=2, limit_s=60))
    parts = (taken(P5, ends_in_s=600), head, either(wait_s=9000), *other, taken("ml.m5.large", "m", ends_in_s=60))
    pools = {**POOLS, "ml.m5.large": 2}
    assert started_on(schedule(snapshot(*parts, pools=pools))) == {"w": {G5: 4}}
    two = Policy(reserved_heads=2)
    assert started_on(schedule(snapshot(*parts, pools=pools, policy=two))) == {}


def test_to_compare_alternatives_takes_no_slack_from_other_jobs() -> None:
    # The head leaves one P5 beside it. The job compares its start there with the one on G5, which is earlier.
    running = (
        held("x", 9, count=2, ends_in_s=600),
        held("z", 9, count=2, ends_in_s=300),
        held("y", 9, pool=G5, count=4, ends_in_s=200),
    )
    waiting = (job("head", 9, count=3), either(demands={P5: 1, G5: 4}), job("behind", 1))
    found = snapshot(*running, *waiting, pools={P5: 4, G5: 4}, policy=Policy(reserved_heads=3))
    by_s = {wait.job: (wait.start_by_ms or 0) - NOW_MS for wait in schedule(found).waits}
    assert by_s == {"head": 600_000, "w": 200_000, "behind": 300_000}


@pytest.mark.parametrize("explain", [True, False])
def test_paused_unknown_and_too_small_pools_are_passed_over(*, explain: bool) -> None:
    pause = Pause(by="ada", since_ms=0, reason="repair")
    for pools, pauses in (({**POOLS}, {P5: pause}), ({G5: 4}, {}), ({P5: 1, G5: 4}, {})):
        found = replace(snapshot(either(), pools=pools), pauses=pauses)
        plan = schedule(found, explain=explain)
        check_plan(found, plan)
        assert started_on(plan) == {"w": {G5: 4}}


def test_if_it_can_use_none_of_its_pools_the_reason_is_that_of_its_first_preference() -> None:
    pause = Pause(by="ada", since_ms=0, reason="repair")
    paused = replace(snapshot(either(), pools={P5: 2}), pauses={P5: pause})
    assert code_of(schedule(paused), "w") == "Paused"
    assert code_of(schedule(snapshot(either(), pools={P5: 1, G5: 3})), "w") == "ExceedsPool"


def test_a_paused_pool_of_one_alternative_does_not_end_the_promise_on_another() -> None:
    pause = Pause(by="ada", since_ms=0, reason="repair")
    found = replace(snapshot(reserved("w", 2, G5), either(), pools=POOLS), pauses={P5: pause})
    assert started_on(schedule(found)) == {"w": {G5: 4}}


def test_a_job_that_waits_before_a_retry_starts_on_no_alternative() -> None:
    for wait_s in (0, 9000):
        waiting = replace(either(wait_s=wait_s), not_before_ms=NOW_MS + 1000)
        plan = schedule(snapshot(taken(P5, ends_in_s=600), waiting, pools=POOLS))
        assert (plan.actions, code_of(plan, "w")) == ((), "BacksOff")


def test_for_a_second_preference_nobody_is_stopped_that_would_rank_first_again() -> None:
    policy = Policy(teams={"red": Team(guaranteed={G5: 4}, limit={P5: 2, G5: 4})})
    parts = (taken(P5, team="red"), held("y", 1, pool=G5, count=4, team="red"))
    plan = schedule(snapshot(*parts, either(demands={P5: 2, G5: 2}, team="red"), pools=POOLS, policy=policy))
    assert plan.actions == ()
    assert schedule(snapshot(*parts, job("w", 5, pool=G5, count=2, team="red"), pools=POOLS, policy=policy)).actions


def test_a_job_that_is_not_covered_has_attempts_stopped_for_its_first_preference() -> None:
    policy = Policy(teams={"red": Team(guaranteed={G5: 4})})
    parts = (held("x", 0, count=2, team="red"), taken(G5, "y", team="red"), either(demands={P5: 2, G5: 4}, team="red"))
    assert preemptions(schedule(snapshot(*parts, pools=POOLS, policy=policy))) == [("x", "w")]


def test_a_job_that_is_covered_has_attempts_stopped_for_each_alternative() -> None:
    policy = Policy(teams={"red": Team(guaranteed={P5: 2}), "blue": Team(guaranteed={P5: 0})})
    parts = (
        held("x", 9, count=2, team="blue", preemptible=False),
        held("y", 0, pool=G5, count=4, team="red"),
        either(demands={P5: 2, G5: 4}, team="red"),
    )
    assert preemptions(schedule(snapshot(*parts, pools=POOLS, policy=policy))) == [("y", "w")]


def test_the_reason_says_that_nobody_is_stopped_for_a_second_preference() -> None:
    policy = Policy(teams={"red": Team(guaranteed={G5: 4})})
    parts = (taken(P5, team="red"), held("y", 1, pool=G5, count=4, team="red", ends_in_s=300))
    plan = schedule(snapshot(*parts, either(demands={P5: 2, G5: 2}, team="red"), pools=POOLS, policy=policy))
    assert "none of them is stopped for this alternative" in reason_of(plan, "w")


def test_a_start_on_anything_else_than_an_alternative_is_refused() -> None:
    found = snapshot(either(), pools=POOLS)
    (start,) = schedule(found).actions
    assert isinstance(start, Start)
    with pytest.raises(InvariantViolation, match="a part of its demand"):
        check_plan(found, Plan(actions=(replace(start, demand={G5: 3}),), waits=()))


def test_a_forecast_runs_it_on_the_alternative_that_it_starts_on() -> None:
    waiting = (either(), job("next", 1, pool=G5, count=4), job("after", 0, pool=P5, count=2))
    found: Snapshot = snapshot(taken(P5, ends_in_s=9000), *waiting, pools=POOLS)
    starts_ms = forecast(found).starts
    assert starts_ms == {"w": NOW_MS, "next": NOW_MS + 3_600_000, "after": NOW_MS + 9_000_000}


def test_the_job_on_each_alternative_keeps_its_place() -> None:
    waiting = either()
    assert [dict(each.demand) for each in choices(waiting)] == [{P5: 2}, {G5: 4}, {CPU: 8}]
    assert [each.on_alternative for each in choices(waiting)] == [False, True, True]
    assert {(each.terms.turn_ms, each.terms.priority, each.alternatives) for each in choices(waiting)} == {
        (NOW_MS, 5, ())
    }
    assert chosen(waiting, {G5: 4}) == choices(waiting)[1]
    plain = job("plain")
    assert choices(plain) == (plain,)


def test_without_a_known_start_it_is_decided_on_its_first_preference() -> None:
    full = (taken(pool, pool, count=count) for pool, count in POOLS.items())
    among = choices(either(preempts=False))
    ground = Ground(snapshot(*full, pools=POOLS))
    found = choose(among, 0, ground, Memo(ground))
    assert isinstance(found, Lacking)
    assert found.job is among[0]


def test_nothing_is_stopped_for_an_alternative_on_which_the_job_would_not_start_but_wait() -> None:
    """On G5 its team is at its limit. If `low` stopped, the job would wait for P5, and `low` would start again."""
    policy = Policy(teams={"red": Team(limit={G5: 4})})
    running = (taken(P5, "x", count=2, ends_in_s=600), held("low", pool=G5, count=4, team="red"))
    waiting = either(wait_s=1200, team="red")
    plan = schedule(snapshot(*running, waiting, pools={P5: 2, G5: 8}, policy=policy))
    assert preemptions(plan) == []
    assert [(each.job, each.start_by_ms) for each in plan.waits] == [("w", NOW_MS + 600_000)]
    assert code_of(plan, "w") == ReasonCode.WAITS_FOR_CAPACITY


@pytest.mark.parametrize(("wait_s", "stopped"), [(599, ["low"]), (600, [])], ids=["too-late", "in-time"])
def test_attempts_are_stopped_on_a_worse_alternative_unless_a_better_one_is_proven_in_time(
    wait_s: int, stopped: list[str]
) -> None:
    running = (taken(P5, "x", count=2, ends_in_s=600), held("low", pool=G5, count=4))
    plan = schedule(snapshot(*running, either(wait_s=wait_s), pools={P5: 2, G5: 4}))
    assert [victim for victim, _ in preemptions(plan)] == stopped


def test_a_job_that_prefers_instances_of_a_warm_pool_releases_it() -> None:
    """It could start on G5 now. It waits for P5, which only a warm pool holds."""
    plan = schedule(snapshot(warm("old", count=2), either(wait_s=1200), pools=POOLS))
    assert warm_releases(plan) == [("old", "w")]
    assert starts(plan) == []


NOT_BACKING_OFF = (Alternative(demand={G5: 4}, limit_ms=3_600_000, not_before_ms=0),)


def test_a_job_starts_in_the_warm_pool_of_its_first_preference() -> None:
    plan = schedule(snapshot(warm("old", count=2), either(warm_key="k"), pools=POOLS))
    assert starts_warm(plan) == [("w", "old")]


@pytest.mark.parametrize(
    "more",
    [{"warm_key": "other"}, {"warm_key": "k", "not_before_ms": NOW_MS + 1, "alternatives": NOT_BACKING_OFF}],
    ids=["of-another-key", "of-a-pool-that-backs-off"],
)
def test_a_job_does_not_start_in_the_warm_pool_of_its_first_preference(more: dict[str, Any]) -> None:
    waiting = changed(either(), **more)
    plan = schedule(snapshot(warm("old", count=2), waiting, pools=POOLS))
    assert starts_warm(plan) == []
    assert started_on(plan) == {"w": {G5: 4}}


@pytest.mark.parametrize("kept", [0, 1], ids=["the-first-is-kept", "the-second-is-kept"])
def test_attempts_are_stopped_on_an_alternative_beside_free_instances_that_are_kept_for_a_job_ahead(kept: int) -> None:
    running = (taken(P5, "high", count=2, ends_in_s=600), held("low", 1), taken(G5, "full"))
    demands = {P5: 1, G5: 1} if kept == 0 else {G5: 1, P5: 1}
    plan = schedule(snapshot(*running, job("head", 8, count=3), either(demands=demands), pools={P5: 4, G5: 1}))
    assert preemptions(plan) == [("low", "w")]
