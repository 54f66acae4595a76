"""Random snapshots, each simulated until nothing changes: `make snapshots COUNT=200000 SEED=1`.

Hypothesis searches for small and unusual snapshots; this draws ordinary ones, with uniformly distributed fields, and
very many of them. Each is simulated twice, once with ends of stopping attempts only, and once to the end of all jobs:

- **It comes to rest.** After a bounded number of decisions and stops no action is left.
- **Every job starts.** If running jobs end in some order and no job arrives, each job that fits starts, also if its
  launches before got no instances.
- Each plan passes the verification.

It also counts how often a job took back instances that were freed for another one. That is not a fault: the job may
have come within its team's guarantee, or may get the same number of instances slightly before its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from headway.bookings.booking import Booking
from headway.errors import InvariantViolation
from headway.model import Allocation, Alternative, Calendar, Reservation, SizeChange, Snapshot, WaitingJob
from headway.past_use.averages import PastUse
from headway.plan import Preempt, Release, Start
from headway.policy import Ageing, FairShare, Fill, Policy, Team
from headway.refusals import Cause, FailedLaunches
from headway.scheduling.alternatives import choices
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import allocation, changed, waiting_job
from tests.core.strategies import World, can_ever_start

NOW_MS = 10_000_000
STEP_MS = 60_000
HOUR_MS = 3_600_000
MAX_TRIES = 100
"""Hours in which a job is tried again whose launches got no instances: six jobs share one per cent, and the last launch
of one may have had no answer for nine minutes."""
CHUNK = 500
"""Snapshots that one process simulates at a time."""


def random_snapshot(rng: Random) -> Snapshot:
    """Return a plain snapshot with the features that are off by default."""
    snapshot = plain_snapshot(rng)
    waiting = tuple(
        changed(job, preempts=rng.random() < 0.9, **_alternatives(rng, job, snapshot)) for job in snapshot.waiting
    )
    snapshot = replace(snapshot, waiting=waiting, calendars=_calendars(rng, snapshot) if rng.random() < 0.3 else {})
    if rng.random() < 0.3:
        snapshot = _with_checkpoints(rng, snapshot)
    if rng.random() < 0.4:
        snapshot = with_warm_pools(snapshot, rng)
    if rng.random() < 0.4:
        snapshot = _with_refusals(rng, snapshot)
    if rng.random() < 0.3:
        snapshot = _with_past_use(rng, snapshot)
    if rng.random() < 0.4:
        snapshot = _with_gaps(rng, snapshot)
    return _with_limits(rng, snapshot) if rng.random() < 0.4 else snapshot


def _with_limits(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which owners are limited, and instances are kept for teams and owners, always or soon."""
    owners = ("ada", "bob")
    policy = snapshot.policy
    bookings = [
        Booking(
            name=f"b{number}",
            about=f"booking `b{number}`",
            pool=pool,
            count=rng.randint(1, size),
            team=rng.choice((None, *policy.teams)),
            owner=rng.choice(owners),
            lapse_ms=rng.choice((None, None, 2 * STEP_MS)),
        )
        for number, (pool, size) in enumerate(sorted(snapshot.pools.items()))
        if rng.random() < 0.6
    ]
    for number, each in enumerate(bookings):
        if rng.random() < 0.7:
            from_ms = NOW_MS + STEP_MS * rng.choice((-5, 0, 3, 60))
            bookings[number] = replace(each, from_ms=from_ms, to_ms=from_ms + STEP_MS * rng.choice((2, 60, 900)))
    limited = {
        pool: max(rng.randint(1, size), *(each.demand.get(pool, 0) for each in snapshot.allocations), 0)
        for pool, size in snapshot.pools.items()
        if rng.random() < 0.4
    }
    return replace(
        snapshot,
        waiting=tuple(changed(each, owner=rng.choice(owners)) for each in snapshot.waiting),
        allocations=tuple(changed(each, owner=rng.choice(owners)) for each in snapshot.allocations),
        policy=replace(policy, bookings=tuple(bookings), owner_limit=limited),
    )


def _with_gaps(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which jobs that write checkpoints may fill gaps, and some attempts fill one."""
    if not (snapshot.policy.backfill and snapshot.policy.preemption):
        return snapshot
    waiting = tuple(
        changed(job, checkpoints=rng.random() < 0.7, limit_ms=STEP_MS * rng.choice((5, 720, 1440)))
        for job in snapshot.waiting
    )
    allocations = tuple(
        replace(each, opportunistic=each.terms.checkpoints and not each.warm and rng.random() < 0.5)
        for each in snapshot.allocations
    )
    policy = replace(snapshot.policy, fill=Fill.CHECKPOINTING, min_run_time_ms=STEP_MS * rng.choice((0, 0, 30)))
    return replace(snapshot, waiting=waiting, allocations=allocations, policy=policy)


def _with_past_use(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which teams have used something before, and some are new."""
    half_life_ms = HOUR_MS * rng.choice((1, 24, 168))
    charges = rng.choice(({}, {pool: rng.uniform(0.1, 10) for pool in snapshot.pools}))
    past = {
        team: PastUse(
            average={pool: rng.uniform(0, size) for pool, size in snapshot.pools.items() if rng.random() < 0.7},
            since_ms=rng.choice((NOW_MS, NOW_MS - half_life_ms, NOW_MS - 100 * half_life_ms)),
        )
        for team in {"", *snapshot.policy.teams}
    }
    policy = replace(snapshot.policy, fair_share=FairShare(half_life_ms=half_life_ms, charges=charges))
    return replace(snapshot, policy=policy, past_use=past)


def _with_refusals(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which launches got no instances: of waiting jobs, and of attempts that give way now."""
    waiting = tuple(
        replace(
            job,
            failed=_failed(rng),
            alternatives=tuple(replace(each, failed=_failed(rng)) for each in job.alternatives),
        )
        for job in snapshot.waiting
    )
    allocations = tuple(
        replace(each, lacks_instances=not each.warm and not each.stopping and rng.random() < 0.2)
        for each in snapshot.allocations
    )
    policy = replace(snapshot.policy, probe_percent=rng.choice((1, 5, 50)))
    return replace(snapshot, waiting=waiting, allocations=allocations, policy=policy)


def _failed(rng: Random) -> FailedLaunches | None:
    if rng.random() < 0.5:
        return None
    ago_ms = STEP_MS * rng.choice((0, 1, 5, 60))
    return FailedLaunches(
        count=rng.choice((1, 2, 4, 9)),
        since_ms=NOW_MS - ago_ms - STEP_MS * rng.choice((0, 4, 90)),
        last_ms=NOW_MS - ago_ms,
        idled_ms=STEP_MS * rng.choice((0, 0, 9)),
        cause=rng.choice(tuple(Cause)),
        by_request_since_ms=rng.choice((None, NOW_MS - ago_ms)),
    )


def _with_checkpoints(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which checkpoints are written at known times, and preemptions may wait for them."""
    allocations = tuple(
        changed(each, checkpoints_every_ms=rng.choice((None, STEP_MS // 2, 2 * STEP_MS, 7 * STEP_MS)))
        for each in snapshot.allocations
    )
    policy = replace(
        snapshot.policy,
        checkpoints_every_ms=rng.choice((None, 3 * STEP_MS)),
        wait_for_checkpoint_ms=STEP_MS * rng.choice((1, 5, 10)),
    )
    return replace(snapshot, allocations=allocations, policy=policy)


def with_warm_pools(snapshot: Snapshot, rng: Random) -> Snapshot:
    """Return a snapshot with warm pools, some of them claimed or being released, and jobs that match or leave some.

    Args:
        snapshot: a snapshot without them.
        rng: the random numbers.
    """
    waiting = tuple(
        changed(job, warm_key=rng.choice(("", "k", "k", "l")), keep_ms=rng.choice((0, 5 * STEP_MS)))
        for job in snapshot.waiting
    )
    running = list(snapshot.allocations)
    sizes = dict(snapshot.pools)
    teams = sorted({job.terms.team for job in waiting})
    for number in range(rng.randint(1, 3)):
        claimers = [
            a for a in running if not a.stopping and not a.warm and a.attempt not in {b.claimed_by for b in running}
        ]
        claimer = rng.choice(claimers) if claimers and rng.random() < 0.25 else None
        match = rng.choice(waiting)
        pool = allocation(
            job=f"v{number}",
            attempt=f"v{number}",
            demand=match.demand if claimer is None else claimer.demand,
            priority=rng.randint(0, 3),
            since_ms=NOW_MS - STEP_MS * rng.randint(0, 4),
            team=rng.choice(teams),
            limit_ms=STEP_MS * rng.choice((3, 10, 60)),
            warm=match.terms.warm_key or "k",
            stopping=claimer is not None or rng.random() < 0.15,
            claimed_by="" if claimer is None else claimer.attempt,
        )
        running.append(pool)
        if claimer is None:
            for name, count in pool.demand.items():
                sizes[name] += count
    policy = replace(snapshot.policy, warm_across_teams=rng.random() < 0.5)
    return replace(snapshot, pools=sizes, allocations=tuple(running), waiting=waiting, policy=policy)


def _calendars(rng: Random, snapshot: Snapshot) -> dict[str, Calendar]:
    """Return for some pools up to three changes within the next ten minutes; at the end a pool is as large as now."""
    found = {}
    for pool, size in snapshot.pools.items():
        if rng.random() < 0.6:
            times = sorted(rng.sample(range(1, 20), rng.randint(1, 3)))
            sizes = [*(rng.randint(0, size + 2) for _ in times[1:]), size]
            changes = zip(times, sizes, strict=True)
            found[pool] = Calendar(
                changes=tuple(SizeChange(at_ms=NOW_MS + at * STEP_MS // 2, size=count) for at, count in changes),
                stops=rng.random() < 0.3,
            )
    return found


def _alternatives(rng: Random, job: WaitingJob, snapshot: Snapshot) -> dict[str, Any]:
    """Return up to two alternatives of a job, each with pools of its own."""
    if rng.random() < 0.5:
        return {}
    found: list[Alternative] = []
    left = sorted(snapshot.pools.keys() - job.demand.keys())
    while left and len(found) < 2:
        demand = _demand(rng, left)
        left = [pool for pool in left if pool not in demand]
        found.append(Alternative(demand=demand, limit_ms=_limit_ms(rng)))
    return {"alternatives": tuple(found), "wait_at_most_ms": rng.choice((0, 5 * STEP_MS, 720 * STEP_MS))}


def plain_snapshot(rng: Random, jobs: int = 6) -> Snapshot:
    """Return 1 to 3 pools, 1 to 3 teams, some running and some waiting jobs in a reachable state.

    Features that are off by default are off. The draws must stay as they are: `plans.txt` depends on them.

    Args:
        rng: the random numbers.
        jobs: running and waiting jobs at most, of each.
    """
    pools = [f"p{number}" for number in range(rng.randint(1, 3))]
    teams = ["red", "blue", "green"][: rng.randint(1, 3)]
    sizes = dict.fromkeys(pools, 0)
    waiting = [_waiting(rng, f"w{number}", pools, teams) for number in range(rng.randint(1, jobs))]
    owed = {job.name: dict(job.demand) for job in waiting}
    running = [_running(rng, f"r{number}", pools, teams, owed) for number in range(rng.randint(1, jobs))]
    reservations = [
        Reservation(job=job.name, demand=part)
        for job in waiting
        if rng.random() < 0.15 and (part := _part(rng, owed[job.name], owed[job.name]))
    ]
    for demand in (*(attempt.demand for attempt in running), *(reservation.demand for reservation in reservations)):
        for pool, count in demand.items():
            sizes[pool] += count
    sizes = {pool: max(1, used + rng.choice((0, 0, 0, 1, 1, 2, 3))) for pool, used in sizes.items()}
    return Snapshot(
        now_ms=NOW_MS,
        pools=sizes,
        allocations=tuple(running),
        reservations=tuple(reservations),
        waiting=tuple(waiting),
        policy=_policy(rng, sizes, teams),
    )


def _demand(rng: Random, pools: Sequence[str]) -> dict[str, int]:
    most = rng.choice((1, 1, 1, 2, 3))
    return {pool: rng.choice((1, 1, 2, 3, 4)) for pool in rng.sample(pools, min(most, len(pools)))}


def _part(rng: Random, of: dict[str, int], at_most: dict[str, int]) -> dict[str, int]:
    """Return a part of what a job is owed, and subtract it."""
    part = {}
    for pool in sorted(of):
        count = rng.randint(0, min(of[pool], at_most.get(pool, 0)))
        if count:
            part[pool] = count
            of[pool] -= count
    return part


def _limit_ms(rng: Random) -> int | None:
    return rng.choice((None, STEP_MS, 5 * STEP_MS, 720 * STEP_MS))


def _waiting(rng: Random, name: str, pools: Sequence[str], teams: Sequence[str]) -> WaitingJob:
    return waiting_job(
        name=name,
        demand=_demand(rng, pools),
        priority=rng.randint(0, 3),
        entry_time_ms=NOW_MS - STEP_MS * rng.randint(0, 5),
        handicap_ms=STEP_MS * rng.choice((0, 0, 0, 2)),
        team=rng.choice(teams),
        limit_ms=_limit_ms(rng),
    )


def _running(
    rng: Random, name: str, pools: Sequence[str], teams: Sequence[str], owed: dict[str, dict[str, int]]
) -> Allocation:
    demand = _demand(rng, pools)
    freed_for = rng.choice(sorted(owed)) if rng.random() < 0.2 else None
    freed = _part(rng, owed[freed_for], demand) if freed_for is not None else {}
    since_ms = NOW_MS - STEP_MS * rng.randint(0, 4)
    return allocation(
        job=name,
        attempt=name,
        demand=demand,
        priority=rng.randint(0, 3),
        since_ms=since_ms,
        entry_time_ms=since_ms - STEP_MS * rng.randint(0, 4),
        team=rng.choice(teams),
        limit_ms=rng.choice((None, None, 720 * STEP_MS, 720 * STEP_MS, 5 * STEP_MS)),
        checkpoints=rng.random() < 0.3,
        preemptible=rng.random() < 0.9,
        preemptions=0 if freed else rng.choice((0, 0, 1)),
        stopping=bool(freed) or rng.random() < 0.05,
        freed_for=freed_for if freed else None,
        freed=freed or None,
    )


def _policy(rng: Random, sizes: dict[str, int], teams: Sequence[str]) -> Policy:
    left = dict(sizes)
    entitled = {}
    for team in teams:
        guaranteed = {}
        for pool in sorted(left):
            count = rng.randint(0, left[pool]) if rng.random() < 0.5 else 0
            if count:
                guaranteed[pool] = count
                left[pool] -= count
        limit = {
            pool: max(rng.randint(1, size + 1), guaranteed.get(pool, 0))
            for pool, size in sorted(sizes.items())
            if rng.random() < 0.15
        }
        entitled[team] = Team(
            guaranteed=guaranteed,
            limit=limit,
            weight=rng.choice((1.0, 1.0, 2.0)),
            max_priority=rng.choice((None, None, None, 1)),
        )
    return Policy(
        backfill=rng.random() < 0.85,
        reserved_heads=rng.choice((1, 1, 1, 2, 3)),
        preemption=rng.random() < 0.95,
        max_preemptions=rng.choice((1, 10)),
        ageing=Ageing(interval_ms=STEP_MS, cap=rng.randint(1, 3)) if rng.random() < 0.2 else None,
        teams=entitled,
    )


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault in a snapshot."""

    number: int
    what: str
    snapshot: Snapshot


class _Wrong(Exception):
    """An invariant does not hold."""


class _Player:
    """Executes decisions; stopping attempts end one by one, in any order."""

    def __init__(self, snapshot: Snapshot, policy: Policy, rng: Random) -> None:
        self.world = World.of(snapshot, policy)
        self._rng = rng
        self._jobs = len(snapshot.waiting) + len(snapshot.allocations)
        #: How often a job took over the reservation of the job that it was stopped for.
        self.undone = 0
        #: The victims of each job, until it has started.
        self._stopped_for: defaultdict[str, set[str]] = defaultdict(set)

    def settle(self) -> None:
        """Decide, and end stopping attempts, until no action is left."""
        preempted = 0
        for _ in range(20 * self._jobs + 20):
            preempted += self._decide()
            if preempted > self._jobs**2:
                break
            stopping = sorted(name for name, attempt in self.world.held.items() if attempt.stopping)
            if not stopping:
                return
            for name in self._rng.sample(stopping, self._rng.randint(1, len(stopping))):
                if name in self.world.held:
                    self.world.end(name)
        raise _Wrong(f"does not come to rest: {preempted} preemptions")

    def _decide(self) -> int:
        """Decide until no immediate action is left; return the number of preemptions."""
        preempted = 0
        for _ in range(10 + self._jobs):
            snapshot = self.world.snapshot()
            plan = schedule(snapshot, explain=False)
            if not plan.actions:
                return preempted
            try:
                check_plan(snapshot, plan)
            except InvariantViolation as error:
                raise _Wrong(f"fails the verification: {error}") from error
            for action in plan.actions:
                if isinstance(action, Preempt):
                    preempted += 1
                    self._stopped_for[action.for_job].add(action.job)
                elif isinstance(action, Release):
                    self.undone += len(self._stopped_for[action.job].intersection(action.reason.jobs))
                elif isinstance(action, Start):
                    self._stopped_for.pop(action.job, None)
            self.world.apply(plan)
        raise _Wrong("has something to do at one moment again and again")


def comes_to_rest(snapshot: Snapshot, rng: Random) -> int:
    """Check that the queue comes to rest if no job ends by itself, even while waiting jobs gain priority."""
    player = _Player(snapshot, replace(snapshot.policy, max_preemptions=1000), rng)
    for _ in range(3 if snapshot.policy.ageing else 1):
        player.settle()
        player.world.advance(player.world.now_ms + 2 * STEP_MS)
    return player.undone


def everybody_is_served(snapshot: Snapshot, rng: Random) -> int:
    """Check that each job that fits starts if no job arrives and running jobs end in any order."""
    player = _Player(snapshot, snapshot.policy, rng)
    world = player.world
    waits: list[str] = []
    failed = sum(each.failed is not None for job in world.waiting.values() for each in choices(job))
    for _ in range(6 * (len(world.waiting) + len(world.held)) + 20 + MAX_TRIES * failed):
        player.settle()
        queue = world.snapshot()
        waits = sorted(job.name for job in queue.waiting if can_ever_start(job, queue))
        if not waits:
            return player.undone
        is_complete = all(change.at_ms <= world.now_ms for each in world.calendars.values() for change in each.changes)
        is_complete &= all((each.to_ms or 0) <= world.now_ms for each in snapshot.policy.bookings)
        if not world.held and is_complete and not failed:
            break
        world.advance(world.now_ms + (STEP_MS if world.held else HOUR_MS))
        if world.held:
            world.end(rng.choice(sorted(world.held)))
    raise _Wrong(f"leaves {waits} unserved")


def played(snapshot: Snapshot, rng: Random) -> tuple[str | None, int]:
    """Return the fault in a snapshot, if any, and how often a job took back instances freed for another one."""
    try:
        return None, comes_to_rest(snapshot, rng) + everybody_is_served(snapshot, rng)
    except _Wrong as wrong:
        return str(wrong), 0


def play(seed: int, numbers: range) -> tuple[list[Fault], int]:
    """Return the faults in the snapshots of a seed, and the number of useless stops.

    Each snapshot depends only on the seed and its number.
    """
    found, undone = [], 0
    for number in numbers:
        rng = Random(f"{seed}/{number}")
        snapshot = random_snapshot(rng)
        what, in_vain = played(snapshot, rng)
        undone += in_vain
        if what is not None:
            found.append(Fault(number=number, what=what, snapshot=snapshot))
    return found, undone


def _all(seed: int, count: int, processes: int) -> Iterator[tuple[list[Fault], int]]:
    chunks = [range(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(play, seed), chunks)


def main() -> int:
    """Simulate many snapshots; exit with 1 if any has a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.count} snapshots, {asked.processes} processes", flush=True)
    began_s, wrong, undone = time.monotonic(), 0, 0
    for number, (found, in_vain) in enumerate(_all(asked.seed, asked.count, asked.processes), start=1):
        undone += in_vain
        if number % 20 == 0:
            print(f"{number * CHUNK} played, {wrong} wrong, {time.monotonic() - began_s:.0f} s", flush=True)
        for fault in found:
            wrong += 1
            print(f"snapshot {fault.number}: {fault.what}\n{fault.snapshot}", flush=True)
    print(
        f"{asked.count} snapshots in {time.monotonic() - began_s:.0f} s: {wrong} do not come to rest or leave somebody "
        f"unserved; {undone} times a job took back instances that were freed for another one"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
