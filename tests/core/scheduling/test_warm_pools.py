"""Warm pools in decisions: every job outranks them, and a job that matches one starts in it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from headway.errors import InvariantViolation
from headway.model import Allocation, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, ReleaseWarm, Start, StartWarm
from headway.policy import DEFAULT_POLICY, Policy, Team
from headway.reasons import ReasonCode, started
from headway.scheduling.invariants import check_plan
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
    starts,
    starts_warm,
    warm,
    warm_releases,
)


def decide(*parts: Allocation | WaitingJob, size: int = 2, policy: Policy = DEFAULT_POLICY) -> Plan:
    """The plan for a snapshot, after it passed the verification."""
    state = snapshot(*parts, size=size, policy=policy)
    plan = schedule(state)
    check_plan(state, plan)
    return plan


# ------------------------------------------------------------------------------------------------------- released
@pytest.mark.parametrize(
    ("waits", "policy"),
    [
        (job("low", 0), Policy()),
        (job("low", 0), Policy(preemption=False)),
        (job("low", 0), Policy(min_run_time_ms=10**9)),
        (job("low", 0, preempts=False), Policy()),
        (job("low", 0, team="red"), Policy(teams={"red": Team(), "blue": Team(guaranteed={P5: 1})})),
    ],
    ids=["priority", "preemption is off", "minimum run time", "got no instances before", "within a guarantee"],
)
def test_a_warm_pool_is_released_for_any_job(waits: WaitingJob, policy: Policy) -> None:
    plan = decide(warm("old", team="blue"), waits, size=1, policy=policy)
    assert warm_releases(plan) == [("old", "low")]
    assert reason_of(plan, "low") == f"starts on 1 {P5} as soon as the warm pool of `old` has ended"
    (action,) = plan.actions
    assert isinstance(action, ReleaseWarm)
    assert dict(action.freed) == {P5: 1}
    assert action.reason.code is ReasonCode.WARM_POOL_RELEASED
    assert action.reason.message == (
        f"its warm pool on 1 {P5} is released so that `low` (priority 0) can start on 1 {P5}"
    )


def test_a_warm_pool_is_released_before_an_attempt_is_preempted() -> None:
    plan = decide(warm("old"), held("low", 1), job("high", 5))
    assert warm_releases(plan) == [("old", "high")]
    assert not preemptions(plan)


def test_a_warm_pool_that_ends_within_the_time_of_a_stop_is_released_before_an_attempt_is_preempted() -> None:
    plan = decide(warm("old", ends_in_s=30), held("low", 1), job("high", 5))
    assert warm_releases(plan) == [("old", "high")]
    assert not preemptions(plan)


def test_attempts_are_preempted_for_what_warm_pools_do_not_free() -> None:
    plan = decide(warm("old"), held("low", 1), job("high", 5, count=2))
    assert warm_releases(plan) == [("old", "high")]
    assert preemptions(plan) == [("low", "high")]
    assert reason_of(plan, "high") == (f"starts on 2 {P5} as soon as the warm pool of `old`, `low` have ended")


def test_no_more_warm_pools_are_released_than_needed() -> None:
    plan = decide(warm("a", count=2), warm("b", count=1), job("high", 5), size=3)
    assert warm_releases(plan) == [("b", "high")]


def test_the_warm_pool_with_the_least_time_left_is_released_first() -> None:
    plan = decide(warm("a", ends_in_s=900), warm("b", ends_in_s=60), warm("c", ends_in_s=600), job("high"), size=3)
    assert warm_releases(plan) == [("b", "high")]


def test_free_instances_are_used_before_a_warm_pool_is_released() -> None:
    plan = decide(warm("old"), job("next"))
    assert starts(plan) == ["next"]
    assert not warm_releases(plan)


def test_a_warm_pool_that_is_being_released_is_waited_for() -> None:
    plan = decide(warm("old", released=True), held("low", 1), job("high", 5))
    assert not plan.actions
    assert "the warm pool of `old`" in reason_of(plan, "high")


def test_what_a_warm_pool_frees_stays_reserved_for_the_preemptor() -> None:
    plan = decide(warm("old", freed_for="first"), job("first", 5), job("second", 5, entered=1), size=1)
    assert not plan.actions
    assert code_of(plan, "first") == ReasonCode.WAITS_FOR_FREED


def test_a_job_of_lower_rank_does_not_take_a_warm_pool_that_a_reserved_start_relies_on() -> None:
    plan = decide(warm("old"), held("long", 9, ends_in_s=3600), job("wide", 5, count=2), job("low", 1))
    assert not plan.actions
    assert code_of(plan, "wide") == ReasonCode.WAITS_FOR_CAPACITY


def test_a_warm_pool_is_named_among_the_holders() -> None:
    plan = decide(warm("old"), held("long", 9, ends_in_s=3600), job("wide", 5, count=2))
    assert "the warm pool of `old` (until 00:26 UTC)" in reason_of(plan, "wide")


def test_a_warm_pool_counts_toward_the_limit_of_its_team() -> None:
    policy = Policy(teams={"red": Team(limit={P5: 1})})
    plan = decide(warm("old", team="red"), job("next", team="red"), size=4, policy=policy)
    assert warm_releases(plan) == [("old", "next")]
    assert not starts(plan)


def test_a_warm_pool_uses_up_no_guarantee() -> None:
    policy = Policy(teams={"red": Team(guaranteed={P5: 1}), "blue": Team()})
    plan = decide(
        warm("old", team="red"), held("b", 9, team="blue"), job("r", 0, team="red"), job("c", 9, team="blue"),
        policy=policy,
    )  # fmt: skip
    assert warm_releases(plan) == [("old", "r")]


def test_a_job_that_preempts_nobody_gets_no_attempt_stopped_beside_a_warm_pool() -> None:
    plan = decide(warm("old"), held("low", 1), job("high", 5, count=2, preempts=False))
    assert not plan.actions


def test_a_warm_pool_that_no_blocked_job_needs_is_released_for_a_job_behind_them() -> None:
    plan = decide(
        warm("old", ends_in_s=7200),
        held("long", 9, count=2, ends_in_s=3600),
        job("wide", 5, count=2),
        job("behind", 1, preempts=False),
        size=3,
    )
    assert warm_releases(plan) == [("old", "behind")]


def test_a_decision_without_explanations_releases_warm_pools_where_preemption_is_off() -> None:
    state = snapshot(warm("old"), job("next"), size=1, policy=Policy(preemption=False))
    assert warm_releases(schedule(state, explain=False)) == [("old", "next")]


# ------------------------------------------------------------------------------------------------------- started in
def test_a_matching_job_starts_in_the_warm_pool_of_a_full_pool() -> None:
    plan = decide(warm("old"), job("next", warm_key="k"), size=1)
    assert starts_warm(plan) == [("next", "old")]
    (action,) = plan.actions
    assert action.reason.message == f"started on 1 {P5} in the warm pool of `old`"


def test_a_matching_job_starts_in_the_warm_pool_even_if_other_instances_are_free() -> None:
    assert starts_warm(decide(warm("old"), job("next", warm_key="k"), size=9)) == [("next", "old")]


@pytest.mark.parametrize(
    "waits",
    [
        job("next"),
        job("next", warm_key="other"),
        job("next", warm_key="k", count=2),
        job("next", warm_key="k", pool=G5),
    ],
    ids=["no key", "another key", "another count", "another type"],
)
def test_a_job_that_does_not_match_does_not_start_in_the_warm_pool(waits: WaitingJob) -> None:
    state = snapshot(warm("old"), waits, pools={P5: 9, G5: 9})
    plan = schedule(state)
    assert starts(plan) == ["next"]
    assert not starts_warm(plan)


def test_a_job_is_not_started_in_a_warm_pool_whose_time_is_over() -> None:
    plan = decide(warm("old", ends_in_s=0), job("next", warm_key="k"), size=1)
    assert warm_releases(plan) == [("old", "next")]


def test_the_warm_pool_that_is_kept_longest_is_used() -> None:
    plan = decide(warm("a"), warm("b", ends_in_s=900), warm("c", ends_in_s=60), job("next", warm_key="k"), size=3)
    assert starts_warm(plan) == [("next", "b")]


def test_each_warm_pool_is_claimed_once() -> None:
    plan = decide(warm("old"), job("a", warm_key="k"), job("b", warm_key="k", entered=1), size=1)
    assert starts_warm(plan) == [("a", "old")]
    assert starts(plan) == ["a"]


def test_two_jobs_start_in_two_warm_pools_of_a_full_pool() -> None:
    plan = decide(warm("x"), warm("y"), job("a", warm_key="k"), job("b", warm_key="k", entered=1))
    assert starts_warm(plan) == [("a", "x"), ("b", "y")]


def test_a_job_of_higher_rank_gets_the_warm_pool_released_before_a_matching_one_starts_in_it() -> None:
    plan = decide(warm("old"), job("high", 5), job("match", 1, warm_key="k"), size=1)
    assert warm_releases(plan) == [("old", "high")]
    assert not starts(plan)


@pytest.mark.parametrize(("limit_s", "expected"), [(3600, [("match", "old")]), (3601, []), (None, [])])
def test_behind_a_blocked_job_a_matching_job_starts_only_if_its_limit_proves_that_it_delays_nobody(
    limit_s: int | None, expected: list[tuple[str, str]]
) -> None:
    plan = decide(
        warm("old"),
        held("long", 9, ends_in_s=3600),
        job("wide", 5, count=2),
        job("match", 1, warm_key="k", limit_s=limit_s),
    )
    assert starts_warm(plan) == expected


def test_behind_a_blocked_job_that_does_not_need_it_a_matching_job_starts_in_a_warm_pool_without_a_limit() -> None:
    plan = decide(
        warm("old", ends_in_s=7200),
        held("long", 9, count=2, ends_in_s=3600),
        job("wide", 5, count=2),
        job("match", 1, warm_key="k"),
        size=3,
    )
    assert starts_warm(plan) == [("match", "old")]


def test_without_backfill_nothing_starts_in_a_warm_pool_of_the_pools_of_a_blocked_job() -> None:
    # What the blocked job lacks is in the other pool: here it has its instance.
    blocked = replace(job("blocked", 1), demand={P5: 1, G5: 1})
    matching = changed(job("next", 0), warm_key="k")
    parts = (warm("old"), replace(held("other", 5), demand={G5: 1}), reserved("blocked"), blocked, matching)
    for backfill, started_in in ((True, [("next", "old")]), (False, [])):
        state = snapshot(*parts, pools={P5: 2, G5: 1}, policy=Policy(backfill=backfill))
        plan = schedule(state)
        check_plan(state, plan)
        assert starts_warm(plan) == started_in


def test_nothing_starts_in_a_warm_pool_of_a_pool_that_was_shrunk_below_its_use() -> None:
    plan = decide(warm("old"), held("other", 9), job("next", warm_key="k"), size=1)
    assert not plan.actions
    plan = decide(warm("old"), warm("more"), held("other", 9), job("next", warm_key="k"), size=2)
    assert warm_releases(plan) == [("more", "next"), ("old", "next")]


def test_a_reservation_becomes_free_when_its_job_starts_in_a_warm_pool() -> None:
    state = snapshot(warm("old", count=2), reserved("next", 1), job("next", 5, count=2, warm_key="k"), job("b"), size=3)
    plan = schedule(state)
    check_plan(state, plan)
    assert starts_warm(plan) == [("next", "old")]
    assert "the warm pool of `old`" in reason_of(plan, "b")


def test_nothing_starts_in_a_warm_pool_while_a_job_ahead_waits_for_a_pool_that_was_shrunk_below_its_use() -> None:
    plan = decide(warm("a"), warm("b"), warm("c"), job("high", 5), job("match", 1, warm_key="k"), size=2)
    assert not starts(plan)


# ------------------------------------------------------------------------------------------------------- claimed
def test_a_job_behind_a_start_in_a_warm_pool_preempts_for_its_own_demand_only() -> None:
    plan = decide(warm("old"), held("low", 0), job("next", 5, warm_key="k"), job("b", 3))
    assert starts_warm(plan) == [("next", "old")]
    assert preemptions(plan) == [("low", "b")]


CLAIMED = (warm("old", claimed_by="mid"), held("mid", 1), held("low", 0))


def test_no_attempt_is_preempted_because_a_claimed_warm_pool_is_charged_twice() -> None:
    plan = decide(*CLAIMED, job("high", 5))
    assert preemptions(plan) == [("low", "high")]
    plan = decide(warm("old", claimed_by="mid"), held("mid", 1), held("low", 0), job("high", 5), size=3)
    assert not plan.actions
    assert code_of(plan, "high") == ReasonCode.WAITS_FOR_FREED


def test_nothing_else_starts_while_a_claimed_warm_pool_is_charged_twice() -> None:
    plan = decide(*CLAIMED[:2], job("next", 0), size=2)
    assert not plan.actions
    assert "the warm pool of `old`" in reason_of(plan, "next")


def test_another_matching_job_starts_in_another_warm_pool_while_one_is_claimed() -> None:
    plan = decide(*CLAIMED[:2], warm("more"), job("next", warm_key="k"), size=2)
    assert starts_warm(plan) == [("next", "more")]


def test_a_claim_may_exceed_the_limit_of_a_team_by_what_is_charged_twice() -> None:
    policy = Policy(teams={"red": Team(limit={P5: 1})})
    plan = decide(warm("old", team="red"), job("next", warm_key="k", team="red"), size=1, policy=policy)
    assert starts_warm(plan) == [("next", "old")]


# ------------------------------------------------------------------------------------------------------- other teams
APART = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})


def test_a_job_starts_in_the_warm_pool_of_another_team_only_if_the_policy_allows_it() -> None:
    parts = (warm("old", team="red"), job("next", warm_key="k", team="blue"))
    assert starts_warm(decide(*parts)) == [("next", "old")]
    plan = decide(*parts, policy=APART)
    assert warm_releases(plan) == [("old", "next")]
    assert not starts(plan)
    assert "the warm pool of `old`" in reason_of(plan, "next")


def test_a_job_waits_until_a_matching_warm_pool_of_another_team_is_gone() -> None:
    plan = decide(warm("old", team="red", released=True), job("next", warm_key="k", team="blue"), size=9, policy=APART)
    assert not plan.actions


def test_no_job_takes_what_a_job_needs_that_waits_for_a_warm_pool_of_another_team() -> None:
    plan = decide(
        warm("old", team="red"), job("next", 1, warm_key="k", team="blue"), job("low", 0, team="red"), policy=APART
    )
    assert not starts(plan)
    own = (warm("mine", team="blue"), warm("old", team="red"))
    plan = decide(*own, job("next", 1, warm_key="k", team="blue"), job("low", 0, count=1), policy=APART)
    assert warm_releases(plan) == [("old", "next")]
    assert not starts(plan)


def test_a_matching_warm_pool_of_another_team_is_released_before_others_as_it_has_to_go_anyway() -> None:
    waits = job("next", 1, count=2, warm_key="k", team="blue")
    # `a` comes first in the order of victims, and would free enough.
    plan = decide(warm("a", count=2, key="x", team="red"), warm("b", count=2, team="red"), waits, size=4, policy=APART)
    assert warm_releases(plan) == [("b", "next")]
    limited = replace(APART, teams={"red": Team(), "blue": Team(limit={P5: 2})})
    own = held("low", team="blue")
    plan = decide(own, warm("b", count=2, team="red"), waits, size=3, policy=limited)
    assert (warm_releases(plan), preemptions(plan)) == ([("b", "next")], [("low", "next")])


def test_a_job_that_waits_for_a_warm_pool_of_another_team_waits_with_the_one_that_it_will_start_in() -> None:
    teams = Policy(warm_across_teams=False)
    mine, other = job("mine", 2, team="green", warm_key="k"), job("other", 2, entered=1, warm_key="k")
    plan = decide(warm("a", team="green"), warm("b"), mine, other, size=4, policy=teams)
    # Otherwise the pool of `a` were released for `other`, which will start in that of `b` if it still can.
    assert warm_releases(plan) == [("b", "mine")]


def test_a_job_of_lower_rank_does_not_start_on_what_a_job_counts_on_that_waits_for_a_warm_pool_of_another_team() -> (
    None
):
    teams = Policy(warm_across_teams=False)
    blocked = job("blocked", 5, limit_s=60, ml_g5_xlarge=1)
    state = snapshot(
        *(held("runs", 9, pool=G5), warm("theirs", count=2, team="red"), blocked),
        *(job("waits", 4, count=2, warm_key="k"), job("small", 3)),
        pools={P5: 5, G5: 1},
        policy=teams,
    )
    plan = schedule(state)
    check_plan(state, plan)
    assert warm_releases(plan) == [("theirs", "waits")]
    assert starts(plan) == []


def test_a_start_in_a_warm_pool_counts_in_the_reserved_starts_of_jobs_ahead() -> None:
    state = snapshot(
        *(held("runs", 1, count=4, preemptions=1), held("low"), warm("old", count=4)),
        job("matching", 0, entered=2, count=4, limit_s=300, team="red", warm_key="k"),
        job("blocked", 2, entered=3, count=2),
        job("wide", 1, entered=1, team="red", ml_g5_xlarge=3),
        pools={P5: 9, G5: 3},
        policy=Policy(max_preemptions=1, teams={"red": Team(guaranteed={G5: 2, P5: 4}), "blue": Team()}),
    )
    check_plan(state, plan := schedule(state))
    assert starts_warm(plan) == [("matching", "old")]
    # As `blocked` can no longer count on the warm pool, it starts later, and `wide` does not delay it.
    assert preemptions(plan) == [("low", "wide")]


@pytest.mark.parametrize(
    ("limit_s", "expected"), [(400, [("matching", "old")]), (500, [])], ids=["ends before", "runs into it"]
)
def test_a_job_starts_in_a_warm_pool_only_if_it_fits_the_later_sizes(
    limit_s: int, expected: list[tuple[str, str]]
) -> None:
    state = snapshot(held("runs", 9), warm("old"), job("matching", 1, limit_s=limit_s, warm_key="k"), sizes={450: 1})
    check_plan(state, plan := schedule(state))
    assert starts_warm(plan) == expected


def test_a_start_in_a_warm_pool_takes_its_part_of_the_later_sizes() -> None:
    first, second = job("first", 3, warm_key="k"), job("second", 3, entered=1)
    state = snapshot(held("runs", 9), warm("old"), first, second, size=4, sizes={120: 3})
    check_plan(state, plan := schedule(state))
    assert starts_warm(plan) == [("first", "old")]
    assert starts(plan) == ["first"]


# ------------------------------------------------------------------------------------------------------- verified
def _reject(state: Snapshot, *actions: object) -> None:
    with pytest.raises(InvariantViolation):
        check_plan(state, Plan(actions=actions, waits=()))  # type: ignore[arg-type]


def test_a_plan_that_misuses_a_warm_pool_does_not_pass_the_verification() -> None:
    reason = started({P5: 1})
    start = partial(StartWarm, demand={P5: 1}, reason=reason)
    release = partial(ReleaseWarm, freed={P5: 1}, reason=reason, for_job="a")
    state = snapshot(
        warm("w"), held("r"), warm("s", released=True), job("a", 5, warm_key="k"), job("b", 5, warm_key="k"),
        job("c", 5), size=3,
    )  # fmt: skip
    check_plan(state, Plan(actions=(start(job="a", warm="w"),), waits=()))
    _reject(state, start(job="a", warm="w"), start(job="b", warm="w"))
    _reject(state, start(job="a", warm="s"))
    _reject(state, start(job="a", warm="r"))
    _reject(state, start(job="c", warm="w"))
    _reject(state, Start(job="a", demand={P5: 1}, reason=reason))
    _reject(state, start(job="b", warm="w"), release(job="w", attempt="w"))
    _reject(state, release(job="s", attempt="s"))
    _reject(state, release(job="r", attempt="r"))
    _reject(state, Preempt(job="w", attempt="w", for_job="a", freed={P5: 1}, reason=reason))
    over = replace(state, now_ms=NOW_MS + 600_000)
    _reject(over, start(job="a", warm="w"))
