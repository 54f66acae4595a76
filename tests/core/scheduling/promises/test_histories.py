"""The promises along random histories: jobs come, run, end, are preempted and stopped, while pools change."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.model import Allocation, Snapshot, WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import allocation, changed, waiting_job
from tests.core.scheduling.promises import test_promises as promises
from tests.core.strategies import (
    POOLS,
    STEP_MS,
    TEAMS,
    World,
    crowded,
    demands,
    fits,
    keys,
    limits,
    policies,
    snapshots,
)

AT_EVERY_MOMENT = (
    promises.capacity_holds,
    promises.all_or_nothing,
    promises.line_is_in_rank_order,
    promises.first_in_line_is_not_kept_from_what_is_free,
    promises.only_who_may_be_preempted_is,
    promises.protected_attempts_run_on,
    promises.leftovers_are_released,
    promises.warm_pools_go_before_attempts,
    promises.only_warm_pools_are_released,
    promises.instances_are_not_shared_across_teams,
)

EVENTS = ("arrive", "arrive", "finish", "yield", "yield", "cancel", "resize", "reprioritise", "wait", "unclaim")

History = tuple[Policy, list[tuple[str, int, WaitingJob]]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A policy, and a sequence of events; the number selects the job."""
    job = st.builds(
        waiting_job,
        name=st.just(""),
        demand=demands,
        priority=st.integers(0, 4),
        entry_time_ms=st.just(0),
        handicap_ms=st.sampled_from([0, 0, STEP_MS, 3 * STEP_MS]),
        team=st.sampled_from(TEAMS),
        limit_ms=limits,
        warm_key=keys,
        keep_ms=st.sampled_from([0, 5 * STEP_MS]),
    )
    event = st.tuples(st.sampled_from(EVENTS), st.integers(0, 9), job)
    return draw(policies("several")), draw(st.lists(event, min_size=3, max_size=14))


def every_moment_keeps_the_promises(history: History) -> None:
    """All that holds for one decision holds for each of a history."""
    policy, events = history
    world = World(now_ms=10 * STEP_MS, pools=dict.fromkeys(POOLS, 4), policy=policy)
    for i, (event, number, job) in enumerate(events):
        _happen(world, event, number, changed(job, name=f"j{i}", entry_time_ms=world.now_ms))
        snapshot = world.snapshot()
        plan = schedule(snapshot)
        check_plan(snapshot, plan)
        for holds in AT_EVERY_MOMENT:
            holds(snapshot)
        world.apply(plan)


def _happen(world: World, event: str, number: int, job: WaitingJob) -> None:
    world.now_ms += 10_000
    running = sorted(name for name, attempt in world.held.items() if not attempt.stopping)
    stopping = sorted(name for name, attempt in world.held.items() if attempt.stopping)
    known = sorted({*world.held, *world.waiting})
    if event == "arrive":
        world.waiting[job.name] = changed(job, checkpoints=number % 2 == 0, preemptible=number % 4 > 0)
    elif event == "finish" and running:
        world.end(running[number % len(running)])
    elif event == "yield" and stopping:
        world.end(stopping[number % len(stopping)])
    elif event == "cancel" and known:
        world.cancel(known[number % len(known)])
    elif event == "resize":
        world.pools[POOLS[number % 2]] = number // 2 + 1
    elif event == "reprioritise" and known:
        name = known[number % len(known)]
        if name in world.waiting:
            world.waiting[name] = changed(world.waiting[name], priority=job.terms.priority)
        else:
            world.held[name] = changed(world.held[name], priority=job.terms.priority)
    elif event == "unclaim":
        world.unclaim_all()
    elif event == "wait":
        world.now_ms += number * STEP_MS


def preemption_comes_to_an_end(snapshot: Snapshot) -> None:
    """Promise 7: where nothing ends by itself, there is soon nothing to do, also while waiting jobs gain priority."""
    world = World.of(snapshot, replace(snapshot.policy, max_preemptions=1000))
    for _ in range(4):
        jobs = len(world.waiting) + len(world.held)
        assert world.settle(10 * jobs + 10) <= jobs * jobs, "jobs preempt each other back and forth"
        world.now_ms += 2 * STEP_MS


def every_job_is_served(snapshot: Snapshot) -> None:
    """Promise 7: if no job arrives and running jobs end, all jobs that fit start; none is preempted too often."""
    world = World.of(snapshot)
    waits: list[WaitingJob] = []
    for _ in range(2 * (len(world.waiting) + len(world.held)) + 20):
        world.settle(200)
        most = world.policy.max_preemptions
        assert all(count <= max(1, most) for count in world.preempted.values()), "preempted too often"
        waits = [job for job in world.waiting.values() if fits(job, world.pools, world.policy)]
        if not waits:
            return
        world.now_ms += 2 * STEP_MS
        # The longest-running job ends.
        for name in sorted(world.held, key=lambda name: (world.held[name].since_ms, name))[:1]:
            world.end(name)
    raise AssertionError(f"{[job.name for job in waits]} never started")


@settings(max_examples=60)
@given(histories())
def test_every_moment_of_a_history_keeps_the_promises(history: History) -> None:
    every_moment_keeps_the_promises(history)


def _of_red(name: str, pool: str, priority: int, freed_for: str | None = None) -> Allocation:
    return allocation(
        job=name, attempt=name, demand={pool: 1}, priority=priority, since_ms=0, team="red",
        stopping=freed_for is not None, freed_for=freed_for, freed={pool: 1} if freed_for else None,
    )  # fmt: skip


CPU, GPU = POOLS

RECLAIMS_HERE_AND_BORROWS_THERE = Snapshot(
    now_ms=10 * STEP_MS,
    pools={CPU: 2, GPU: 2},
    allocations=(_of_red("r0", GPU, 1, "w0"), _of_red("r1", GPU, 0, "w3"), _of_red("r2", CPU, 0)),
    waiting=(
        waiting_job(name="w0", demand={GPU: 1}, priority=0, entry_time_ms=0, team="red"),
        waiting_job(name="w3", demand={CPU: 1, GPU: 1}, priority=0, entry_time_ms=0, team="red"),
        waiting_job(name="w4", demand={CPU: 1, GPU: 2}, priority=0, entry_time_ms=0, team="blue"),
    ),
    policy=Policy(teams={"blue": Team(guaranteed={GPU: 2})}),
)
"""What ``w4`` takes by right of what its team is guaranteed, ``r0`` takes back, as both borrow and it ranks higher."""


@settings(max_examples=60)
@given(snapshots())
@example(RECLAIMS_HERE_AND_BORROWS_THERE)
def test_jobs_do_not_preempt_each_other_back_and_forth(snapshot: Snapshot) -> None:
    preemption_comes_to_an_end(snapshot)


@given(crowded())
def test_reclaimed_instances_do_not_go_back_and_forth(snapshot: Snapshot) -> None:
    preemption_comes_to_an_end(snapshot)


@settings(max_examples=60)
@given(snapshots() | crowded())
def test_every_job_that_fits_starts_once_running_jobs_have_ended(snapshot: Snapshot) -> None:
    every_job_is_served(snapshot)
