"""The promises of ``docs/semantics.md`` that a single decision can keep or break, on random snapshots."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from headway.capacity import free, minus, overlap, plus, shortfall, total
from headway.model import Allocation, Reservation, Snapshot, WaitingJob
from headway.ordering import rank
from headway.plan import Plan, Preempt, Release, Start
from headway.schedule import schedule
from headway.verify import verify

POOLS = ("ml.c5.large", "ml.g5.xlarge", "ml.p5.48xlarge")
NOW_MS = 10_000_000
T = TypeVar("T")

demands = st.dictionaries(st.sampled_from(POOLS), st.integers(1, 4), min_size=1, max_size=2)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Snapshots that can come about: nothing is held that was not free before, sizes may have changed since."""
    waiting = tuple(
        WaitingJob(
            name=f"w{i}",
            demand=draw(demands),
            priority=draw(st.integers(0, 4)),
            entry_time_ms=draw(st.integers(0, 5)),
            not_before_ms=draw(st.sampled_from([0, 0, 0, NOW_MS + 5000])),
        )
        for i in range(draw(st.integers(0, 6)))
    )
    names = [job.name for job in waiting] + ["gone"]
    allocations = []
    for i in range(draw(st.integers(0, 6))):
        demand = draw(demands)
        freed_for = draw(st.sampled_from([None, None, None, *names]))
        freed = None
        if freed_for is not None:
            need = next((job.demand for job in waiting if job.name == freed_for), demand)
            freed = overlap(need, demand) or None
        allocations.append(
            Allocation(
                job=f"r{i}",
                attempt=f"r{i}",
                demand=demand,
                priority=draw(st.integers(0, 4)),
                since_ms=draw(st.integers(0, NOW_MS)),
                checkpoints=draw(st.booleans()),
                stopping=freed is not None or draw(st.booleans()),
                freed_for=freed_for if freed else None,
                freed=freed,
            )
        )
    reservations = tuple(Reservation(job=name, demand=draw(demands)) for name in names if draw(st.integers(0, 5)) == 0)
    used = plus(total(a.demand for a in allocations), total(r.demand for r in reservations))
    # Mostly pools that hold what is used and some more; sometimes one that was shrunk below its use.
    pools = {pool: max(0, used.get(pool, 0) + draw(st.integers(-1, 4))) for pool in POOLS}
    return Snapshot(
        now_ms=NOW_MS, pools=pools, allocations=tuple(allocations), reservations=reservations, waiting=waiting
    )


def of(plan: Plan, kind: type[Start] | type[Preempt] | type[Release]) -> list[str]:
    return [action.job for action in plan.actions if isinstance(action, kind)]


@given(snapshots())
def test_every_plan_passes_its_own_verification(snapshot: Snapshot) -> None:
    verify(snapshot, schedule(snapshot))


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_same_snapshot_gives_the_same_plan_in_whatever_order_it_was_read(
    snapshot: Snapshot, random: Random
) -> None:
    def shuffled(parts: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(random.sample(parts, len(parts)))

    again = Snapshot(
        now_ms=snapshot.now_ms,
        pools=dict(shuffled(tuple(snapshot.pools.items()))),
        allocations=shuffled(snapshot.allocations),
        reservations=shuffled(snapshot.reservations),
        waiting=shuffled(snapshot.waiting),
    )
    first, second = schedule(snapshot), schedule(again)
    assert first.actions == second.actions
    assert [(hold.job, hold.reason.code) for hold in first.holds] == [(h.job, h.reason.code) for h in second.holds]


@given(snapshots())
def test_every_waiting_job_either_starts_or_is_told_why_not(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    told = [hold.job for hold in plan.holds]
    assert sorted([*told, *of(plan, Start)]) == sorted(job.name for job in snapshot.waiting)
    assert all(hold.reason.message for hold in plan.holds)


@given(snapshots())
def test_nobody_starts_past_a_blocked_head_but_on_what_was_freed_for_it(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    started = set(of(plan, Start))
    sure = {action.for_job for action in plan.actions if isinstance(action, Preempt)}
    sure |= {hold.job for hold in plan.holds if hold.reason.code == "WaitsForFreedInstances"}
    blocked: set[str] = set()
    for job in sorted(snapshot.waiting, key=rank):
        if job.name in started:
            own = next((r.demand for r in snapshot.reservations if r.job == job.name), {})
            assert not blocked & set(shortfall(job.demand, own))
        elif job.name not in sure and not shortfall(job.demand, snapshot.pools):
            blocked |= set(job.demand)


@given(snapshots())
def test_no_instance_stays_free_that_the_first_in_line_may_use(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    if plan.actions:
        return
    left = free(snapshot)
    for job in sorted(snapshot.waiting, key=rank):
        if shortfall(job.demand, snapshot.pools):
            continue
        own = next((r.demand for r in snapshot.reservations if r.job == job.name), {})
        if job.not_before_ms <= snapshot.now_ms:
            assert shortfall(minus(job.demand, own), left)
        break


@given(snapshots())
def test_no_victim_is_needless(snapshot: Snapshot) -> None:
    """Without any one of its victims, a preemptor would not get all that it lacks."""
    plan = schedule(snapshot)
    victims = [action for action in plan.actions if isinstance(action, Preempt)]
    demand_of = {allocation.attempt: allocation.demand for allocation in snapshot.allocations}
    for name in {action.for_job for action in victims}:
        mine = [action for action in victims if action.for_job == name]
        earmarked = total(action.freed for action in mine)
        for action in mine:
            others = total(demand_of[other.attempt] for other in mine if other is not action)
            # Either it frees something that the others do not, or it pays for a pool shrunk below its use.
            in_debt = any(size < 0 for size in free(snapshot).values())
            assert in_debt or shortfall(earmarked, others)


@given(snapshots())
def test_no_cheaper_single_victim_would_have_done(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    victims = [action for action in plan.actions if isinstance(action, Preempt)]
    if (
        len({action.for_job for action in victims}) != 1
        or len(victims) < 2
        or any(v < 0 for v in free(snapshot).values())
    ):
        return
    preemptor = next(job for job in snapshot.waiting if job.name == victims[0].for_job)
    need = total(action.freed for action in victims)
    lowest = max(a.priority for a in snapshot.allocations if a.attempt in {v.attempt for v in victims})
    single = [
        allocation
        for allocation in snapshot.allocations
        if not allocation.stopping
        and allocation.priority < min(preemptor.priority, lowest)
        and not shortfall(need, allocation.demand)
    ]
    assert not single


@given(snapshots())
def test_after_everything_has_stopped_the_preemptors_start(snapshot: Snapshot) -> None:
    """What is freed for a job is enough for it (promise 5: useful), and is still there when it is free (held)."""
    plan = schedule(snapshot)
    preemptors = {action.for_job for action in plan.actions if isinstance(action, Preempt)}
    if not preemptors:
        return
    after = _when_all_have_stopped(snapshot, plan)
    assert preemptors <= set(of(schedule(after), Start))


def _when_all_have_stopped(snapshot: Snapshot, plan: Plan) -> Snapshot:
    started = {action.job: action for action in plan.actions if isinstance(action, Start)}
    preempted = {action.attempt: action for action in plan.actions if isinstance(action, Preempt)}
    released = set(of(plan, Release))
    waiting = tuple(job for job in snapshot.waiting if job.name not in started)
    reserved = {r.job: r.demand for r in snapshot.reservations if r.job not in started and r.job not in released}
    allocations = []
    for allocation in snapshot.allocations:
        action = preempted.get(allocation.attempt)
        if action is None and not allocation.stopping:
            allocations.append(allocation)
            continue
        for_job = action.for_job if action else allocation.freed_for
        freed = action.freed if action else allocation.freed
        if for_job in {job.name for job in waiting} and freed:
            reserved[for_job] = plus(reserved.get(for_job, {}), freed)
    by_name = {job.name: job for job in snapshot.waiting}
    allocations += [
        Allocation(
            job=name, attempt=name, demand=action.demand, priority=by_name[name].priority, since_ms=snapshot.now_ms
        )
        for name, action in started.items()
    ]
    return Snapshot(
        now_ms=snapshot.now_ms,
        pools=snapshot.pools,
        allocations=tuple(allocations),
        reservations=tuple(Reservation(job=name, demand=demand) for name, demand in reserved.items()),
        waiting=waiting,
    )


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 4))
def test_the_victims_of_one_preemption_are_a_smallest_set_when_all_are_alike(
    counts: list[int], need: int, priority: int
) -> None:
    """With equal priorities and no work lost, giving victims back leaves a set of which none is needless."""
    pool = POOLS[0]
    allocations = tuple(
        Allocation(job=f"r{i}", attempt=f"r{i}", demand={pool: count}, priority=0, since_ms=NOW_MS)
        for i, count in enumerate(counts)
    )
    job = WaitingJob(name="a", demand={pool: need}, priority=priority, entry_time_ms=0)
    snapshot = Snapshot(now_ms=NOW_MS, pools={pool: sum(counts)}, allocations=allocations, waiting=(job,))
    victims = of(schedule(snapshot), Preempt)
    taken = [counts[int(name[1:])] for name in victims]
    if sum(counts) < need:
        assert not victims
        return
    assert sum(taken) >= need
    assert all(sum(rest) < need for rest in combinations(taken, len(taken) - 1))
