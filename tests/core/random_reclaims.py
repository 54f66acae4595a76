"""Random reclaims, each taken from the largest borrower: `make reclaims COUNT=100000 SEED=1`.

Each snapshot has one waiting job that its team's guarantee covers, its team's own attempts, and two to five other teams
of which most borrow. The rule (decision 116) is stated here a second time, in other words than in the scheduler: a team
that lost nothing, although it has an attempt that could have been stopped, borrows no more over its weight than a team
that lost instances would with one of its victims.

Attempts of several instances may leave no set of victims that follows the rule. So where it is broken, all sets are
looked at: it is a fault only if one of them follows it. The scheduler tries few sets, and may miss it in few reclaims
(`MAX_FAULTS`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random

from headway.model import Allocation, Demand, Snapshot
from headway.plan import Preempt
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from headway.vectors import minus, plus, positive, shortfall, total
from tests.core.builders import allocation, waiting_job

NOW_MS = 10_000_000
STEP_MS = 60_000
OWNER = "owner"
"""The team that reclaims."""
MAX_FAULTS = 0.005
"""The part of all reclaims that may be unfair although a fair set of victims exists."""
CHUNK = 1000
"""Snapshots that one process draws at a time."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What some snapshots were.

    Attributes:
        reclaims: those in which attempts were stopped.
        unfair: those of them in which a team lost too much.
        faults: those of these in which another set of victims is fair.
    """

    reclaims: int
    unfair: int
    faults: Sequence[str]


def reclaim(rng: Random) -> Snapshot:
    """Return a snapshot in which a team reclaims its guarantee from others.

    Args:
        rng: the random numbers.
    """
    pools = [f"p{number}" for number in range(rng.randint(1, 2))]
    others = [f"t{number}" for number in range(rng.randint(2, 5))]
    running = [_running(rng, f"r{number}", pools, [*others, *others, OWNER]) for number in range(rng.randint(3, 14))]
    held = total(each.demand for each in running)
    sizes = {pool: max(held.get(pool, 0), 1) + rng.choice((0, 0, 1)) for pool in pools}
    mine = total(each.demand for each in running if each.terms.team == OWNER)
    left = minus(sizes, mine)
    wanted = {pool: rng.randint(1, count) for pool, count in positive(left).items()}
    left = minus(left, wanted)
    teams = {OWNER: Team(guaranteed=plus(mine, wanted))}
    for team in others:
        guaranteed = positive({pool: rng.randint(0, count) for pool, count in positive(left).items()})
        guaranteed = guaranteed if rng.random() < 0.4 else {}
        left = minus(left, guaranteed)
        teams[team] = Team(guaranteed=guaranteed, weight=rng.choice((1.0, 1.0, 1.0, 2.0)))
    waiting = waiting_job(name="w", demand=wanted, priority=rng.randint(0, 3), entry_time_ms=NOW_MS, team=OWNER)
    return Snapshot(
        now_ms=NOW_MS,
        pools=sizes,
        allocations=tuple(running),
        reservations=(),
        waiting=(waiting,) if wanted else (),
        policy=Policy(preemption=True, teams=teams),
    )


def _running(rng: Random, name: str, pools: Sequence[str], teams: Sequence[str]) -> Allocation:
    return allocation(
        job=name,
        attempt=name,
        demand={pool: rng.randint(1, 4) for pool in rng.sample(pools, rng.randint(1, len(pools)))},
        priority=rng.randint(0, 3),
        since_ms=NOW_MS - STEP_MS * rng.randint(0, 9),
        team=rng.choice(teams),
        preemptible=rng.random() < 0.9,
    )


def borrowed(team: str, running: Sequence[Allocation], snapshot: Snapshot) -> float:
    """Return the largest part of a pool that a team holds beyond its guarantee, over its weight; 0 for the owner.

    Args:
        team: the team.
        running: the attempts that hold instances.
        snapshot: the pools and guarantees.
    """
    if team == OWNER:
        return 0.0
    rules = snapshot.policy.team(team)
    held = total(each.demand for each in running if each.terms.team == team)
    parts = [(count - rules.guaranteed.get(pool, 0)) / snapshot.pools[pool] for pool, count in held.items()]
    return max([0.0, *parts]) / rules.weight


def unfairness(victims: Sequence[Allocation], snapshot: Snapshot) -> str | None:
    """Return who loses too much; None if nobody does.

    Args:
        victims: attempts of the snapshot.
        snapshot: a reclaim.
    """
    left = [each for each in snapshot.allocations if each not in victims]
    losers = {each.terms.team for each in victims}
    for loser in losers:
        lost = [each for each in victims if each.terms.team == loser]
        its = max(borrowed(loser, [*left, each], snapshot) for each in lost)
        for team in snapshot.policy.teams.keys() - losers - {OWNER}:
            theirs = borrowed(team, left, snapshot)
            if theirs > its and any(may_stop([*victims, each], snapshot) for each in left if each.terms.team == team):
                return f"{loser} borrows {its:.3f} with one of its victims, and {team}, which lost none, {theirs:.3f}"
    return None


def may_stop(victims: Sequence[Allocation], snapshot: Snapshot) -> bool:
    """Return whether these may all be stopped, and the last one frees something that the waiting job lacks."""
    (job,) = snapshot.waiting
    if lacking(snapshot).keys().isdisjoint(victims[-1].demand):
        return False
    if not all(each.terms.preemptible for each in victims):
        return False
    if any(each.terms.team == OWNER and each.terms.priority >= job.terms.priority for each in victims):
        return False
    for team in {each.terms.team for each in victims} - {OWNER}:
        gone = total(each.demand for each in victims if each.terms.team == team)
        held = total(each.demand for each in snapshot.allocations if each.terms.team == team)
        if any(held[pool] - count < snapshot.policy.team(team).guaranteed.get(pool, 0) for pool, count in gone.items()):
            return False
    return True


def lacking(snapshot: Snapshot) -> Demand:
    """Return what the waiting job needs beyond what is free."""
    free = minus(snapshot.pools, total(each.demand for each in snapshot.allocations))
    return shortfall(snapshot.waiting[0].demand, free)


def sufficient_sets(snapshot: Snapshot) -> Iterator[tuple[Allocation, ...]]:
    """Yield all sets of victims of other teams that suffice, and of which none is needless."""
    could = [each for each in snapshot.allocations if each.terms.team != OWNER and may_stop([each], snapshot)]
    missing = lacking(snapshot)
    for size in range(1, len(could) + 1):
        for chosen in combinations(could, size):
            freed = total(each.demand for each in chosen)
            needless = any(not shortfall(missing, minus(freed, each.demand)) for each in chosen)
            if not shortfall(missing, freed) and not needless and may_stop(chosen, snapshot):
                yield chosen


def judge(snapshot: Snapshot) -> tuple[int, str | None, bool]:
    """Return the number of victims of a reclaim, what is unfair, and whether another set of victims is fair."""
    stopped = {action.attempt for action in schedule(snapshot).actions if isinstance(action, Preempt)}
    victims = [each for each in snapshot.allocations if each.attempt in stopped]
    unfair = unfairness(victims, snapshot) if victims else None
    has_better = unfair is not None and any(unfairness(each, snapshot) is None for each in sufficient_sets(snapshot))
    return len(victims), unfair, has_better


def draw(seed: int, numbers: range) -> Drawn:
    """Return what the snapshots of a seed are. Each depends only on the seed and its number.

    Args:
        seed: the seed.
        numbers: the numbers of the snapshots.
    """
    reclaims, all_unfair, faults = 0, 0, []
    for number in numbers:
        victims, unfair, has_better = judge(reclaim(Random(f"{seed}/{number}")))
        reclaims += victims > 0
        all_unfair += unfair is not None
        if has_better:
            faults.append(f"snapshot {number}: {unfair}")
    return Drawn(reclaims=reclaims, unfair=all_unfair, faults=faults)


def main() -> int:
    """Draw many reclaims; exit with 1 if any is unfair, or none had a choice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    began_s = time.monotonic()
    chunks = [range(first, min(first + CHUNK, asked.count)) for first in range(0, asked.count, CHUNK)]
    with ProcessPoolExecutor(asked.processes) as pool:
        drawn = list(pool.map(partial(draw, asked.seed), chunks))
    faults = [fault for each in drawn for fault in each.faults]
    print(*faults, sep="\n" if faults else "", end="\n" if faults else "")
    reclaims = sum(each.reclaims for each in drawn)
    print(
        f"{asked.count} snapshots (seed {asked.seed}) in {time.monotonic() - began_s:.0f} s: {reclaims} reclaims, "
        f"{sum(each.unfair for each in drawn)} unfair, {len(faults)} of them needlessly"
    )
    return 1 if len(faults) > MAX_FAULTS * reclaims or not reclaims else 0


if __name__ == "__main__":
    sys.exit(main())
