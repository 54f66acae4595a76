"""The attempts that a waiting job may preempt: bounds, ties, and order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import STOP_MS, Allocation, Snapshot, WaitingJob
from headway.plan import ReleaseWarm
from headway.policy import Order, Policy, Team
from headway.protected import Protected
from headway.scheduling.limits import Limits
from headway.scheduling.placement.ground import Ground
from headway.scheduling.preemption import Preemption
from headway.scheduling.scheduler import schedule
from tests.core.builders import (
    G5,
    NOW_MS,
    P5,
    allocation,
    changed,
    held,
    job,
    preemptions,
    reason_of,
    snapshot,
    starts,
    warm,
)


def test_an_attempt_whose_clock_is_ahead_is_preempted_where_there_is_no_minimum_run_time() -> None:
    plan = schedule(snapshot(held("x", since=NOW_MS + 1), job("urgent", 9), size=1))
    assert preemptions(plan) == [("x", "urgent")]


@pytest.mark.parametrize(
    ("left_ms", "soon"), [(-1, False), (0, True), (1, True), (STOP_MS, True), (STOP_MS + 1, False)]
)
def test_an_attempt_ends_as_soon_as_a_stop_would_end_it_up_to_its_limit(left_ms: int, *, soon: bool) -> None:
    attempt = allocation(job="x", attempt="x", demand={P5: 1}, priority=0, since_ms=NOW_MS, limit_ms=60_000)
    assert attempt.ends_as_soon(NOW_MS + 60_000 - left_ms) is soon


def test_an_attempt_under_its_teams_guarantee_hides_no_other_victim() -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1})})
    plan = schedule(snapshot(held("x", 0, team="a"), held("y", 1, team="b"), job("w", 5, team="c"), policy=policy))
    assert preemptions(plan) == [("y", "w")]


def test_an_attempt_that_would_rank_first_again_hides_no_other_victim() -> None:
    # If x stops, the team borrows nothing beyond its guarantee of 2, so x would take its instances back; y of b would
    # not.
    policy = Policy(teams={"a": Team(guaranteed={P5: 2})})
    parts = (held("x", 0, team="a"), held("y", 1, team="b"), job("wide", 5, count=3, team="a"))
    assert preemptions(schedule(snapshot(*parts, size=4, policy=policy))) == [("y", "wide")]


def test_a_job_preempts_no_attempt_if_each_victim_would_rank_first_again() -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 2})})
    parts = (held("x", 0, team="a"), held("y", 1, team="a"), job("wide", 5, count=3, team="a"))
    assert not preemptions(schedule(snapshot(*parts, size=4, policy=policy)))


@pytest.mark.parametrize(("policy", "priority"), [(Policy(preemption=False), 9), (Policy(), 5)])
def test_a_decision_without_explanations_ends_where_no_job_can_start_or_preempt(policy: Policy, priority: int) -> None:
    line = [job(f"w{i}", priority) for i in range(3)]
    plan = schedule(snapshot(held("x", 5), *line, size=1, policy=policy), explain=False)
    assert (plan.actions, plan.unseen) == ((), 3)


def test_each_attempt_that_is_checked_counts_as_one_evaluation() -> None:
    ground = Ground(snapshot(*(held(f"x{i}") for i in range(3)), size=3))
    before = ground.comparisons.made
    assert len(ground.preemption.victims(job("w", 9, count=3), {P5: 3})) == 3
    # Two for each to sort them, one for each that was evaluated.
    assert ground.comparisons.made - before == 3 * (2 + 1)


OTHER = replace(job("other", 9, preempts=False), on_alternative=True)


def test_no_attempt_is_stopped_for_an_alternative_that_preempts_none() -> None:
    plan = schedule(snapshot(held("x"), OTHER, size=1))
    assert not plan.actions
    assert reason_of(plan, "other") == (
        "needs 1 more ml.p5.48xlarge, held by `x` (priority 0, without a time limit); none of them is stopped for this "
        "alternative"
    )


def test_such_a_job_starts_on_free_instances() -> None:
    assert starts(schedule(snapshot(held("x"), OTHER, size=2))) == ["other"]


def test_such_a_job_reclaims_no_guarantee() -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1}), "b": Team()})
    for preempts in (True, False):
        waiting = job("w", 0, team="a", preempts=preempts)
        plan = schedule(snapshot(held("x", 9, team="b"), waiting, size=1, policy=policy))
        assert preemptions(plan) == ([("x", "w")] if preempts else [])


def test_a_preemption_is_not_counted_on_for_the_reserved_start_of_such_a_job() -> None:
    parts = (held("x", 0, ends_in_s=9000), held("y", 9, ends_in_s=300))
    # Also where something is unused, which is released for any job.
    for unused in ((), (warm("v", pool=G5),)):
        for preempts, starts_by in ((True, NOW_MS + 300_000), (False, NOW_MS + 9_000_000)):
            wide = job("wide", 5, count=2, preempts=preempts)
            plan = schedule(snapshot(*parts, *unused, wide, pools={P5: 2, G5: 1}))
            assert [wait.start_by_ms for wait in plan.waits] == [starts_by]


@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
def test_such_a_job_does_not_keep_jobs_behind_it_from_preempting(heads: int, *, explain: bool) -> None:
    # The first job relies on the end of `x`, so `y` is left for the second one, which has the same demand and priority.
    running = (held("x", 0, ends_in_s=300), held("y", 0, since=NOW_MS - 1000, ends_in_s=9000))
    waiting = (OTHER, job("preempts", 9, entered=1))
    plan = schedule(snapshot(*running, *waiting, policy=Policy(reserved_heads=heads)), explain=explain)
    assert preemptions(plan) == [("y", "preempts")]


@pytest.mark.parametrize(
    "waiting", [[job("w", 9, team="a", count=3)], [job("v1", 9, team="a"), job("w", 9, team="a", count=2)]]
)
def test_a_warm_pool_that_goes_counts_for_no_guarantee_of_its_team(waiting: list[WaitingJob]) -> None:
    policy = Policy(teams={"a": Team(), "b": Team(guaranteed={P5: 1})})
    running = [held(name, team="b") for name in ("x", "y", "z")]
    plan = schedule(snapshot(warm("v", team="b"), *running, *waiting, size=4, policy=policy))
    assert [each.job for each in plan.actions if isinstance(each, ReleaseWarm)] == ["v"]
    assert [freed_for for _, freed_for in preemptions(plan)] == ["w", "w"], "one of three is guaranteed"


def test_no_warm_pool_goes_for_a_job_that_does_not_get_the_rest_of_its_instances() -> None:
    # Its warm pool would have to go, and its team is at its limit.
    policy = Policy(teams={"a": Team(limit={P5: 1}), "b": Team()}, warm_across_teams=False)
    wants = job("w", 5, team="a", warm_key="k")
    shot = snapshot(warm("v", team="b"), held("x", 9, team="a"), wants, size=2, policy=policy)
    assert [each.job for each in preemption(shot).victims(wants, {P5: 1})] == ["v"]
    assert preemption(shot).victims(wants, Limits(shot).charged({P5: 1}, wants.terms)) == ()


SHARED = Policy(order=Order.SHARED)
HOUR_MS = 3_600_000


def sharing(name: str, priority: int, **more: bool) -> Allocation:
    """An attempt of a job that takes part in the order, above the lowest level."""
    attempt = held(name, priority, since=NOW_MS, entered=NOW_MS)
    return changed(attempt, attained_ms=HOUR_MS, **{"checkpoints": True, **more})


def preemption(shot: Snapshot) -> Preemption:
    return Ground(shot).preemption


@pytest.mark.parametrize(
    ("attempt", "why"),
    [
        (sharing("lower", 4), None),
        (sharing("equal", 5), None),
        (sharing("writes-none", 5, checkpoints=False), Protected.NOT_LOWER),
        (sharing("higher", 6), Protected.NOT_LOWER),
    ],
)
def test_why_an_attempt_is_stopped_for_no_job_that_may_preempt_equals(
    attempt: Allocation, why: Protected | None
) -> None:
    waiting = changed(job("w", 5), attained_ms=0)
    shot = snapshot(attempt, waiting, size=1, policy=SHARED)
    assert preemption(shot).protected_from(waiting)(attempt) is why
    assert preemptions(schedule(shot)) == ([] if why else [(attempt.job, "w")])


def test_a_job_that_preempts_no_equal_hides_none_behind_it_that_does() -> None:
    """Its turn is compared with theirs, and it may be any time before that."""
    takes_no_part = job("first", 5, entered=1000)
    shot = snapshot(sharing("equal", 5), takes_no_part, size=1, policy=SHARED)
    assert preemption(shot).may_preempt_from(takes_no_part)
