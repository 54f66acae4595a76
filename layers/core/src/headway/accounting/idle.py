"""Idle while a job waits: which instances are, and for how long they count. Pure.

Only the passes of the scheduler see free instances and waiting jobs together. What a pass has left idle counts as idle
until the next pass. Passes follow each change, and come once a minute at least, so that this is off by the time from a
change to the pass that follows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date

from headway.days import split
from headway.model import Snapshot
from headway.plan import Plan, Release, Start
from headway.scheduling.alternatives import demands
from headway.vectors import minus, plus, positive, total

COUNTED_EACH_S = 300
"""Idle time is added to the sums this often at least, machine time, so that a gap without passes is noticed."""

MAX_GAP_S = 600
"""Longer spans are not counted, machine time. There was no pass in the last minutes of them, from
:data:`COUNTED_EACH_S` on: while the scheduler fails, nobody knows what is idle."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Idle:
    """Idle instances of a pool, while a job waits that could use the pool.

    Attributes:
        count: how many.
        reserved: how many of them are kept for a job that waits for more.
    """

    count: int
    reserved: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class IdleSpan:
    """Instances that have been idle since a pass, as far as they are not counted.

    Attributes:
        idle: the instances.
        since_ms: since when, training time, ms.
        noted_ms: the machine time then, ms.
    """

    idle: Idle
    since_ms: int
    noted_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Accrual:
    """What a pass changes.

    Attributes:
        counted: what has been idle by UTC day: instances times ms.
        following: what is idle from now on; None if nothing is.
    """

    counted: Mapping[date, Idle]
    following: IdleSpan | None


def idle_after(snapshot: Snapshot, plan: Plan) -> dict[str, Idle]:
    """The instances that a plan leaves idle while a job waits that could use them, by pool.

    A job could use a pool if one of its alternatives demands it, fits into the sizes of its pools, and needs no paused
    pool. Instances that are being freed and warm pools are not idle.

    Args:
        snapshot: the state that the plan was made from.
        plan: the plan, all of which was carried out.
    """
    started = {action.job: action.demand for action in plan.actions if isinstance(action, Start)}
    held = plus(total(each.demand for each in snapshot.allocations), total(started.values()))
    unused = positive(minus(snapshot.pools, {pool: held.get(pool, 0) for pool in snapshot.pools}))
    if not unused:
        return {}
    released = started.keys() | {action.job for action in plan.actions if isinstance(action, Release)}
    reserved = total(each.demand for each in snapshot.reservations if each.job not in released)
    waited_for = _waited_for(snapshot, started.keys(), unused.keys())
    return {
        pool: Idle(count=count, reserved=min(count, reserved.get(pool, 0)))
        for pool, count in unused.items()
        if pool in waited_for
    }


def _waited_for(snapshot: Snapshot, started: Collection[str], unused: Collection[str]) -> set[str]:
    """The unused pools that a job waits for, and others. Usually the first job suffices for all of them."""
    found: set[str] = set()
    for job in snapshot.waiting:
        if found.issuperset(unused):
            break
        if job.name in started:
            continue
        for demand in demands(job):
            if all(snapshot.pools.get(pool, 0) >= count for pool, count in demand.items()) and (
                snapshot.pauses.keys().isdisjoint(demand)
            ):
                found.update(demand)
    return found


def accrue(known: IdleSpan | None, idle: Idle | None, now_ms: int, machine_ms: int) -> Accrual | None:
    """What to do with a pool after a pass.

    Args:
        known: what has been idle up to this pass, and is not counted; None if nothing has.
        idle: what is idle after it; None if nothing is.
        now_ms: the training time of the pass, ms.

    Returns:
        None if all stays as it is known, and nothing is to be counted yet.
    """
    following = None if idle is None else IdleSpan(idle=idle, since_ms=now_ms, noted_ms=machine_ms)
    if known is None:
        return None if following is None else Accrual(counted={}, following=following)
    passed_ms = machine_ms - known.noted_ms
    if idle == known.idle and passed_ms < COUNTED_EACH_S * 1000:
        return None
    # The clocks of two invocations may differ, so this pass may seem to be before the last one.
    spans = split(known.since_ms, now_ms) if passed_ms <= MAX_GAP_S * 1000 else {}
    counted = {
        day: Idle(count=known.idle.count * span_ms, reserved=known.idle.reserved * span_ms)
        for day, span_ms in spans.items()
    }
    return Accrual(counted=counted, following=following)
