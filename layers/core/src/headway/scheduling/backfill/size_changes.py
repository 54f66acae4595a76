"""The sizes that pools will have, and what may run when they change.

A change is a claim, as a reserved start is: at its time it takes the instances that the pool loses, and its slack is
the new size less all that holds instances then. No job may run into it on more than the slack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from headway.model import STOP_MS, Allocation, Calendar, Demand, SizeChange, Snapshot, WaitingJob
from headway.scheduling.backfill.claims import Claim
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.limits import Limits
from headway.vectors import plus

_NOTHING: Demand = MappingProxyType({})


def end_by_ms(allocation: Allocation, now_ms: int) -> int | None:
    """When an attempt has ended at the latest, ms; None if nothing proves it.

    A limit that has passed is disproved.

    Args:
        allocation: the attempt.
    """
    ends = [now_ms + STOP_MS] if allocation.stopping else []
    if allocation.terms.limit_ms is not None and allocation.since_ms + allocation.terms.limit_ms > now_ms:
        ends.append(allocation.since_ms + allocation.terms.limit_ms)
    return min(ends, default=None)


def later_changes(calendar: Calendar | None, now_ms: int) -> tuple[SizeChange, ...]:
    """The changes that have not happened yet.

    Args:
        calendar: of the pool, if it has one.
    """
    return tuple(change for change in calendar.changes if change.at_ms > now_ms) if calendar else ()


def largest_size(size: int, changes: Iterable[SizeChange]) -> int:
    """The largest size that a pool has from now on.

    Args:
        size: its size now.
        changes: those that have not happened yet.
    """
    return max([size, *(change.size for change in changes)])


def crosses(
    calendars: Mapping[str, Calendar],
    pools: Collection[str],
    from_ms: int,
    to_ms: int,
    *,
    stops_for_size: bool = False,
) -> bool:
    """Whether a job that ends later than expected runs into another change of its pools.

    Args:
        calendars: by pool.
        pools: the pools of the job.
        from_ms: its expected end, ms.
        to_ms: its end, ms.
        stops_for_size: of the job.
    """
    return any(
        from_ms <= change.at_ms < to_ms
        for pool in pools
        if pool in calendars and calendars[pool].limits(stops_for_size=stops_for_size)
        for change in calendars[pool].changes
    )


@dataclass(kw_only=True, slots=True)
class SizeClaim(Claim):
    """A change of size. Its slack is empty for jobs that may run into it, as attempts are stopped for it."""

    pool: str
    change: SizeChange
    #: Whether attempts are stopped for it. Then those with ``stops_for_size`` do not count.
    stops: bool

    def counts(self, allocation: Allocation, now_ms: int) -> bool:
        """Whether an attempt takes a part of the size: it may still run at the change, and need not stop for it.

        Args:
            allocation: the attempt.
        """
        end_ms = end_by_ms(allocation, now_ms)
        runs_into = end_ms is None or end_ms > self.change.at_ms
        return runs_into and not (self.stops and allocation.terms.stops_for_size)


class SizeChanges:
    """The changes of one decision, per pool."""

    def __init__(self, snapshot: Snapshot, comparisons: Comparisons, limits: Limits) -> None:
        self._now_ms = now_ms = snapshot.now_ms
        self._comparisons = comparisons
        self._limits = limits
        self._pools = limits.sizes
        self._changes: dict[str, tuple[SizeChange, ...]] = {}
        self._claims: dict[str, list[SizeClaim]] = {}
        #: The same for jobs that may run into those that attempts are stopped for.
        self._for_stopping: dict[str, list[SizeClaim]] = {}
        self._room: dict[tuple[tuple[tuple[str, int], ...], int | None, int, bool], bool] = {}
        charged = [
            (each, limits.charged(each.demand, each.terms))
            for each in (snapshot.allocations if limits.calendars else ())
        ]
        for pool, calendar in limits.calendars.items():
            changes = later_changes(calendar, now_ms)
            if not changes or pool not in limits.sizes:
                continue
            holding = [(each, demand[pool]) for each, demand in charged if pool in demand]
            comparisons.made += len(holding) + len(changes)
            self._changes[pool] = changes
            found = [*_claims(pool, limits.sizes[pool], changes, holding, now_ms, calendar)]
            self._claims[pool] = found
            self._for_stopping[pool] = [replace(claim, slack={}) if claim.stops else claim for claim in found]

    def __bool__(self) -> bool:
        return bool(self._claims)

    def _held(self, allocation: Allocation, pool: str) -> int:
        return self._limits.charged(allocation.demand, allocation.terms).get(pool, 0)

    def _demand(self, job: WaitingJob) -> Demand:
        return self._limits.charged(job.demand, job.terms)

    def of(
        self, pools: Iterable[str], until_ms: int | None = None, *, stops_for_size: bool = False
    ) -> Iterator[SizeClaim]:
        """The changes of these pools, as claims on their instances.

        Args:
            until_ms: only those before this, ms; None for all.
            stops_for_size: whether they are for a job that may run into those that attempts are stopped for.
        """
        claims = self._for_stopping if stops_for_size else self._claims
        for pool in pools:
            for claim in claims.get(pool, ()):
                if until_ms is not None and claim.change.at_ms >= until_ms:
                    break
                yield claim

    def largest(self, pool: str) -> int:
        """The largest size that the pool has from now on."""
        return largest_size(self._pools[pool], self._changes.get(pool, ()))

    def growth(self, pool: str, count: int) -> SizeChange | None:
        """The first change after which the pool has so many instances; None if it has as many now.

        Args:
            count: the instances.
        """
        if count <= self._pools[pool]:
            return None
        return next((change for change in self._changes.get(pool, ()) if change.size >= count), None)

    def has_room_for(self, job: WaitingJob) -> bool:
        """Whether there is a time from which all pools are large enough for the job until its limit."""
        demand = self._demand(job)
        pools = [pool for pool in demand if pool in self._changes]
        if not pools:
            return True
        first_ms = max(self._now_ms, job.not_before_ms)
        kind = (tuple(demand.items()), job.terms.limit_ms, first_ms, job.terms.stops_for_size)
        known = self._room.get(kind)
        if known is None:
            later = (change.at_ms for pool in pools for change in self._changes[pool] if change.at_ms > first_ms)
            starts = {first_ms, *later}
            known = self._room[kind] = any(self._suffices(job, demand, pools, start_ms) for start_ms in starts)
        return known

    def longest_ms(self, job: WaitingJob) -> int:
        """How long a job of this demand could run at most, ms; there is no time for its limit."""
        demand = self._demand(job)
        pools = [pool for pool in demand if pool in self._changes]
        times = sorted({self._now_ms, *(change.at_ms for pool in pools for change in self._changes[pool])})
        longest_ms = since_ms = 0
        is_open = False
        for at_ms in times:
            enough = all(self._size_at(pool, at_ms) >= demand[pool] for pool in pools)
            if enough and not is_open:
                since_ms = at_ms
            elif not enough and is_open:
                longest_ms = max(longest_ms, at_ms - since_ms)
            is_open = enough
        return longest_ms

    def _suffices(self, job: WaitingJob, demand: Demand, pools: Iterable[str], start_ms: int) -> bool:
        end_ms = None if job.terms.limit_ms is None else start_ms + job.terms.limit_ms
        for pool in pools:
            self._comparisons.made += len(self._changes[pool])
            during = [
                change.size
                for change in self._changes[pool]
                if change.at_ms > start_ms and (end_ms is None or change.at_ms < end_ms)
            ]
            # A job that is stopped for a change may run into it.
            limits = bool(next(self.of((pool,), stops_for_size=job.terms.stops_for_size)).slack)
            if min([self._size_at(pool, start_ms), *(during if limits else ())]) < demand[pool]:
                return False
        return True

    def _size_at(self, pool: str, time_ms: int) -> int:
        sizes = [change.size for change in self._changes[pool] if change.at_ms <= time_ms]
        return sizes[-1] if sizes else self._pools[pool]

    def exceeded_by(
        self,
        job: WaitingJob,
        takes: Demand,
        until_ms: int | None,
        freed: Iterable[Allocation] = (),
        taken: Demand = _NOTHING,
        taken_until_ms: int | None = None,
    ) -> SizeClaim | None:
        """The first change that a job may not run into, if it takes instances from now to then (None: for ever).

        Args:
            takes: what it takes beyond what :meth:`charge` has counted for it, for each pool that it demands.
            until_ms: its latest end, ms; None without a limit.
            freed: attempts that would be stopped for it.
            taken: what :meth:`charge` has counted for it. From then on the job would still hold that, too.
            taken_until_ms: until when that was counted, ms; None without a limit.
        """
        if not self._claims:
            return None
        freed = tuple(freed)
        found = []
        for claim in self.of(takes, until_ms, stops_for_size=job.terms.stops_for_size):
            self._comparisons.made += 1
            gained = sum(self._held(each, claim.pool) for each in freed if claim.counts(each, self._now_ms))
            count = takes[claim.pool] - gained
            if not claim.runs_into(self._now_ms, taken_until_ms):
                count += taken.get(claim.pool, 0)
            if claim.is_delayed_by({claim.pool: count}, self._now_ms, until_ms):
                found.append(claim)
        return min(found, key=lambda claim: (claim.change.at_ms, claim.pool), default=None)

    def charge(
        self,
        job: WaitingJob,
        demand: Demand,
        until_ms: int | None,
        freed: Iterable[Allocation] = (),
        taken: Demand = _NOTHING,
        taken_until_ms: int | None = None,
    ) -> None:
        """Count what a job holds, or will hold, from now to then (None: for ever).

        What attempts would free that are stopped for it is counted for no other job: that they stop is not sure yet.

        Args:
            demand: the instances per pool and per limit.
            until_ms: its latest end, ms; None without a limit.
            freed: attempts that are stopped for it.
            taken: what was counted for it before.
            taken_until_ms: until when that was counted, ms; None without a limit. From then on it holds that, too.
        """
        if not self._claims:
            return
        freed = tuple(freed)
        for claim in self.of(demand, until_ms, stops_for_size=job.terms.stops_for_size):
            gained = sum(self._held(each, claim.pool) for each in freed if claim.counts(each, self._now_ms))
            count = demand[claim.pool]
            if not claim.runs_into(self._now_ms, taken_until_ms):
                count += taken.get(claim.pool, 0)
            claim.share({claim.pool: max(0, count - gained) if gained else count}, self._now_ms, until_ms)


def _claims(
    pool: str,
    size: int,
    changes: Iterable[SizeChange],
    holding: Sequence[tuple[Allocation, int]],
    now_ms: int,
    calendar: Calendar,
) -> Iterator[SizeClaim]:
    for change in changes:
        claim = SizeClaim(
            pool=pool,
            change=change,
            stops=calendar.stops,
            start_ms=change.at_ms,
            end_ms=None,
            need={pool: size - change.size},
            slack={},
        )
        if calendar.limits(stops_for_size=False):
            held = sum(count for each, count in holding if claim.counts(each, now_ms))
            claim.slack = plus({pool: change.size}, {pool: -held})
        yield claim
        size = change.size
