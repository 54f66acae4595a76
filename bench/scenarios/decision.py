"""How long one decision takes: ``schedule`` alone, with 1,000 running and up to 100,000 waiting jobs."""

from __future__ import annotations

import argparse
import cProfile
import gc
import itertools
import json
import pstats
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.metering.machine import describe_machine
from headway.bookings.booking import Booking
from headway.job_terms import JobTerms
from headway.model import Allocation, Alternative, Snapshot, WaitingJob
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule

RUNNING = 1000
WAITING = (100, 1_000, 10_000, 100_000)
GOAL_WAITING, GOAL_MS = 10_000, 50.0
GROWTH = 1.25
"""Ten times as many waiting jobs may take ten times as long, and this much more for noise and sorting."""

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
PRIORITIES = (0, 1, 2, 5, 9)


def snapshot_of(
    waiting: int,
    pools: int,
    *,
    rng: random.Random,
    blocked: bool = False,
    teams: int = 0,
    limits: bool = True,
    settled: bool = True,
) -> Snapshot:
    """1,000 running jobs and a line.

    Args:
        waiting: how many jobs wait.
        pools: how many pools; running and waiting jobs are spread over them.
        rng: where the mix comes from.
        blocked: whether the first job of each pool demands more than is free, so that all else has to pass it.
        teams: how many teams, each guaranteed an equal part; 0 for none.
        limits: whether jobs have a limit of their run time.
        settled: whether no waiting job outranks a running one, as it is once those that could preempt have done so.
            Otherwise thousands of jobs of higher priority have come at once, and hundreds of preemptions are due.
    """
    names = [f"ml.p{number}.48xlarge" for number in range(1, pools + 1)]
    used = dict.fromkeys(names, 0)
    allocations = []
    for number in range(RUNNING):
        pool, count = names[number % pools], rng.choice((1, 1, 1, 2, 4))
        used[pool] += count
        since_ms = NOW_MS - rng.randrange(HOUR_MS)
        allocations.append(
            Allocation(
                job=f"running{number}",
                attempt=f"running{number}-1",
                demand={pool: count},
                terms=JobTerms(
                    priority=PRIORITIES[-1] if settled else rng.choice(PRIORITIES),
                    entry_time_ms=since_ms - rng.randrange(HOUR_MS),
                    team=f"team{number % teams}" if teams else "",
                    limit_ms=rng.randrange(1, 24) * HOUR_MS if limits else None,
                    checkpoints=rng.random() < 0.5,
                ),
                since_ms=since_ms,
            )
        )
    # A few instances are free, and the first job of a blocked queue demands more of them.
    sizes = {pool: count + 8 for pool, count in used.items()}
    jobs = [
        WaitingJob(
            name=f"waiting{number}",
            demand={names[number % pools]: rng.choice((1, 1, 1, 2, 4))},
            terms=JobTerms(
                priority=rng.choice(PRIORITIES),
                entry_time_ms=NOW_MS - rng.randrange(24 * HOUR_MS),
                team=f"team{number % teams}" if teams else "",
                limit_ms=rng.randrange(1, 24) * HOUR_MS if limits else None,
            ),
        )
        for number in range(waiting)
    ]
    if blocked:
        for number in range(min(pools, waiting)):
            demand = {pool: sizes[pool] for pool in jobs[number].demand}
            terms = replace(jobs[number].terms, priority=9, entry_time_ms=NOW_MS - 48 * HOUR_MS)
            jobs[number] = replace(jobs[number], demand=demand, terms=terms)
    policy = Policy()
    if teams:
        guaranteed = {pool: size // teams for pool, size in sizes.items()}
        policy = Policy(teams={f"team{number}": Team(guaranteed=guaranteed, limit=sizes) for number in range(teams)})
    return Snapshot(now_ms=NOW_MS, pools=sizes, allocations=tuple(allocations), waiting=tuple(jobs), policy=policy)


def with_alternatives(snapshot: Snapshot) -> Snapshot:
    """The snapshot where each waiting job can run in the next two pools as well, and waits an hour for a better one."""
    names = sorted(snapshot.pools)
    following = {name: [names[(place + step) % len(names)] for step in (1, 2)] for place, name in enumerate(names)}
    waiting = tuple(
        replace(
            job,
            alternatives=tuple(
                Alternative(demand={other: count}, limit_ms=job.terms.limit_ms)
                for pool, count in job.demand.items()
                for other in following[pool]
            ),
            wait_at_most_ms=HOUR_MS,
        )
        for job in snapshot.waiting
    )
    return replace(snapshot, waiting=waiting)


OWNERS = 200


def with_owner_limits(snapshot: Snapshot) -> Snapshot:
    """The snapshot where each of many owners may hold a few more instances of each pool than they do."""
    allocations = tuple(
        replace(each, terms=replace(each.terms, owner=f"owner{number % OWNERS}"))
        for number, each in enumerate(snapshot.allocations)
    )
    waiting = tuple(
        replace(each, terms=replace(each.terms, owner=f"owner{number % OWNERS}"))
        for number, each in enumerate(snapshot.waiting)
    )
    policy = replace(snapshot.policy, owner_limit=dict.fromkeys(snapshot.pools, RUNNING * 8 // OWNERS))
    return replace(snapshot, allocations=allocations, waiting=waiting, policy=policy)


def with_bookings(snapshot: Snapshot) -> Snapshot:
    """The snapshot where a part of each pool is kept for a team each week, and the guarantee of another is not lent."""
    bookings: list[Booking] = []
    for pool, size in snapshot.pools.items():
        kept = Booking(name=f"kept {pool}", about="", pool=pool, count=size // 8, team="team1")
        night = replace(kept, name=f"night {pool}", team="team0", weekly=True)
        bookings += [kept, replace(night, from_ms=NOW_MS + HOUR_MS, to_ms=NOW_MS + 13 * HOUR_MS)]
    return replace(snapshot, policy=replace(snapshot.policy, bookings=tuple(bookings)))


SCENES: Mapping[str, Callable[[int, random.Random], Snapshot]] = {
    "one pool": lambda waiting, rng: snapshot_of(waiting, 1, rng=rng),
    "one pool, blocked head": lambda waiting, rng: snapshot_of(waiting, 1, rng=rng, blocked=True),
    "one pool, blocked, no limits": lambda waiting, rng: snapshot_of(waiting, 1, rng=rng, blocked=True, limits=False),
    "eight pools": lambda waiting, rng: snapshot_of(waiting, 8, rng=rng),
    "eight pools, blocked heads": lambda waiting, rng: snapshot_of(waiting, 8, rng=rng, blocked=True),
    "eight pools, six teams": lambda waiting, rng: snapshot_of(waiting, 8, rng=rng, blocked=True, teams=6),
    "eight pools, alternatives": lambda waiting, rng: with_alternatives(snapshot_of(waiting, 8, rng=rng)),
    "eight pools, blocked, choices": lambda waiting, rng: with_alternatives(
        snapshot_of(waiting, 8, rng=rng, blocked=True)
    ),
    "eight pools, teams, owners": lambda waiting, rng: with_owner_limits(
        snapshot_of(waiting, 8, rng=rng, blocked=True, teams=6)
    ),
    "eight pools, teams, bookings": lambda waiting, rng: with_bookings(
        snapshot_of(waiting, 8, rng=rng, blocked=True, teams=6)
    ),
    "one pool, storm": lambda waiting, rng: snapshot_of(waiting, 1, rng=rng, settled=False),
    "eight pools, storm": lambda waiting, rng: snapshot_of(waiting, 8, rng=rng, settled=False),
}
STORMS = {name for name in SCENES if name.endswith("storm")}
"""No goal in ms: a decision on hundreds of preemptions comes once, and each is a call of SageMaker's anyway."""

ALL_AT_LIMITS = "eight pools, teams, bookings"
"""No goal either: each of a thousand jobs is told who holds what it waits for, which a tick does not do."""


def timed_ms(snapshot: Snapshot, runs: int) -> list[float]:
    """CPU time of each of some decisions on the same snapshot, ms."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        schedule(snapshot)
        times.append((time.process_time() - began) * 1000)
    return times


def measure(name: str, seed: int, sizes: tuple[int, ...], runs: int) -> tuple[dict[int, dict[str, float]], list[str]]:
    """The median of each size, ms, with the least and the greatest, and what misses the goals."""
    medians: dict[int, float] = {}
    found: dict[int, dict[str, float]] = {}
    for waiting in sizes:
        snapshot = SCENES[name](waiting, random.Random(seed))
        gc.collect()
        times = timed_ms(snapshot, runs)
        medians[waiting] = statistics.median(times)
        ends = {"median": medians[waiting], "from": min(times), "to": max(times)}
        found[waiting] = {which: round(ms, 2) for which, ms in ends.items()}
        plan = schedule(snapshot)
        looked = f"{len(plan.actions)} actions, {len(plan.waits)} holds, {plan.unseen} unseen"
        spread = f"{min(times):.1f} to {max(times):.1f}"
        print(f"{name:<30}{waiting:>9}{medians[waiting]:>10.1f}   {spread:<20}{looked}")
    problems = [
        f"{name}: {medians[GOAL_WAITING]:.1f} ms with {GOAL_WAITING} waiting; the goal is {GOAL_MS:.0f} ms"
        for waiting in sizes
        if waiting == GOAL_WAITING and medians[waiting] > GOAL_MS and name not in {*STORMS, ALL_AT_LIMITS}
    ]
    for fewer, more in itertools.pairwise(sizes):
        grown = medians[more] / medians[fewer]
        if grown > GROWTH * more / fewer:
            problems.append(f"{name}: from {fewer} to {more} waiting it takes {grown:.1f} times as long")
    return found, problems


def main() -> int:
    """Measure, print, and return as exit status whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the mix of jobs")
    parser.add_argument("--runs", type=int, default=9, help="decisions on each snapshot; the median counts")
    parser.add_argument("--quick", action="store_true", help="three runs, and not 100,000 waiting")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--profile", action="store_true", help="print where the time goes with 10,000 waiting")
    arguments = parser.parse_args()
    machine = describe_machine()
    print(f"machine: {machine}; {RUNNING} running; seed {arguments.seed}")
    if arguments.profile:
        for name, scene in SCENES.items():
            snapshot = scene(GOAL_WAITING, random.Random(arguments.seed))
            profile = cProfile.Profile()
            profile.runcall(schedule, snapshot)
            print(f"\n{name}, {GOAL_WAITING} waiting")
            pstats.Stats(profile).sort_stats("tottime").print_stats(12)
        return 0
    print(f"{'':<30}{'waiting':>9}{'median ms':>10}   from, to")
    sizes, runs = (WAITING[:-1], 3) if arguments.quick else (WAITING, arguments.runs)
    results: dict[str, Any] = {"machine": machine, "seed": arguments.seed, "runs": runs, "ms": {}}
    problems = []
    for name in SCENES:
        results["ms"][name], missed = measure(name, arguments.seed, sizes, runs)
        problems += missed
    results["problems"] = problems
    print(json.dumps(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
