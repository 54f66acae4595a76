"""A job of which SageMaker takes one pool: it holds all of them until then, and jobs are stopped for it in one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import Allocation, Reservation, WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, reason_of, reserved, snapshot, starts
from tests.core.scheduling.promises.test_promises import reserved_starts_are_kept

POOLS = {P5: 2, G5: 2}


def one_of(name: str = "w", priority: int = 5, *, pools: bool = True) -> WaitingJob:
    return job(name, priority, count=2, one_of=pools, ml_g5_xlarge=2)


def test_it_starts_if_all_its_pools_have_room() -> None:
    plan = schedule(snapshot(one_of(), pools=POOLS))
    assert starts(plan) == ["w"]
    assert (
        plan.actions[0].reason.message == "started on 2 ml.g5.xlarge or 2 ml.p5.48xlarge, of which SageMaker takes one"
    )
    assert not schedule(snapshot(held("x", 9, pool=G5), one_of(), pools=POOLS)).actions


BOTH = (held("x", 0, count=2), held("y", 0, count=2, pool=G5))


@pytest.mark.parametrize(
    ("parts", "stopped"),
    [
        ((held("x", 0),), ["x"]),
        ((held("x", 0), held("x2", 0)), ["x", "x2"]),
        (BOTH, []),
        ((reserved("w"), held("x", 0), held("y", 0, pool=G5)), []),
        ((held("x", 0, freed_for="w"), held("y", 0, pool=G5)), []),
        ((held("x", 0, freed_for="w"), held("x2", 0)), ["x2"]),
        ((held("x", 0, stopping=True), held("y", 0, pool=G5)), ["y"]),
    ],
)
def test_jobs_are_stopped_for_it_in_one_pool_at_most_also_over_several_decisions(
    parts: tuple[Allocation | Reservation, ...], stopped: list[str]
) -> None:
    assert preemptions(schedule(snapshot(*parts, one_of(), pools=POOLS))) == [(name, "w") for name in stopped]


def test_a_job_that_runs_in_all_its_pools_stops_jobs_in_all_of_them() -> None:
    stopped = preemptions(schedule(snapshot(*BOTH, one_of(pools=False), pools=POOLS)))
    assert sorted(stopped) == [("x", "w"), ("y", "w")]


def test_the_limits_of_a_team_count_as_their_pools() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 2, G5: 2})})
    plenty = {P5: 9, G5: 9}
    for running, pools, stopped in (
        (BOTH[:1], plenty, [("x", "w")]),
        (BOTH[:1], POOLS, [("x", "w")]),
        (BOTH, plenty, []),
    ):
        mine = [held(each.job, count=2, pool=min(each.demand), team="a") for each in running]
        waiting = job("w", 5, count=2, team="a", one_of=True, ml_g5_xlarge=2)
        assert preemptions(schedule(snapshot(*mine, waiting, pools=pools, policy=policy))) == stopped


def test_its_reason_says_why_no_job_is_stopped() -> None:
    assert reason_of(schedule(snapshot(*BOTH, one_of(), pools=POOLS)), "w").endswith(
        "jobs of lower priority are stopped for it in one of its pools at most, as it runs in one"
    )


def test_its_reserved_start_relies_on_preemption_in_one_pool() -> None:
    # Now jobs would have to be stopped in both pools. When x has ended, only y is in the way.
    running = (held("x", 0, count=2, ends_in_s=300), held("y", 0, count=2, pool=G5, ends_in_s=9000))
    plan = schedule(snapshot(*running, one_of(), pools=POOLS))
    assert [wait.start_by_ms for wait in plan.waits] == [NOW_MS + 300_000]


def test_it_relies_on_none_in_a_second_pool_after_one_in_another() -> None:
    running = (held("y", 0, count=2, pool=G5, ends_in_s=9000), held("x", 9, ends_in_s=300))
    for parts, start_s in (((), 300), ((reserved("w"),), 9000)):
        plan = schedule(snapshot(*parts, *running, one_of(), pools=POOLS))
        assert [wait.start_by_ms for wait in plan.waits] == [NOW_MS + start_s * 1000]


def test_nobody_takes_what_it_would_have_to_preempt_in_a_second_pool() -> None:
    # At 300 s it preempts y in one pool; z in the other one is in its way if a job takes what is left beside it.
    running = (held("x", 9, ends_in_s=300), held("y", 0, count=2, pool=G5), held("z", 0, since=NOW_MS - 1))
    parts = (*running, one_of(), job("last", 1))
    assert starts(schedule(snapshot(*parts, pools={P5: 4, G5: 2}))) == []
    assert starts(schedule(snapshot(*parts, pools={P5: 5, G5: 2}))) == ["last"]


@pytest.mark.parametrize("explain", [True, False])
def test_it_does_not_keep_jobs_behind_it_from_preempting(*, explain: bool) -> None:
    # It relies on the end of both first attempts; the others are left for the job behind it.
    soon = (held("x", 0, count=2, ends_in_s=300), held("y", 0, count=2, pool=G5, ends_in_s=300))
    late = (
        held(name, 0, count=2, pool=pool, since=NOW_MS - 1, ends_in_s=9000) for name, pool in (("x2", P5), ("y2", G5))
    )
    running = (*soon, *late)
    behind = job("behind", 5, entered=1, count=2, ml_g5_xlarge=2)
    plan = schedule(snapshot(*running, one_of(), behind, pools={P5: 4, G5: 4}), explain=explain)
    assert sorted(preemptions(plan)) == [("x2", "behind"), ("y2", "behind")]


def test_what_a_preemption_frees_beyond_its_need_may_start_it_early() -> None:
    # With the rest of what x frees it lacks instances in one pool only, and preempts y.
    running = (held("x", 0, count=2), held("y", 0, count=2, pool=G5, ends_in_s=600))
    last = replace(job("last", 0, limit_s=30), not_before_ms=NOW_MS + 5000)
    waiting = (job("w", 5, one_of=True, ml_g5_xlarge=2), job("preempts", 5, entered=1), last)
    found = snapshot(*running, *waiting, pools=POOLS)
    assert preemptions(schedule(found)) == [("x", "preempts")]
    reserved_starts_are_kept(found)


def test_nobody_takes_what_it_would_have_to_preempt_in_a_second_pool_later() -> None:
    running = (
        held("y", 0, count=2, pool=G5, since=NOW_MS, ends_in_s=9000),
        held("z", 0, since=NOW_MS, ends_in_s=9000),
    )
    policy = Policy(min_run_time_ms=60_000)
    for size, started in ((3, []), (4, ["last"])):
        found = snapshot(*running, one_of(), job("last", 1), pools={P5: size, G5: 2}, policy=policy)
        assert starts(schedule(found)) == started


def test_attempts_without_instances_give_way_in_all_its_pools() -> None:
    # They lose no work, as warm pools.
    idle = [replace(each, lacks_instances=True) for each in BOTH]
    stopped = preemptions(schedule(snapshot(*idle, one_of(), pools=POOLS)))
    assert sorted(stopped) == [("x", "w"), ("y", "w")]
