"""What limits jobs beside the sizes of pools: limits of teams and of owners, and what is kept for other jobs.

Each limit is treated as one more pool, which only the jobs demand that it limits. So all that holds for pools (all or
nothing, reserved starts, victims, sizes that change) holds for limits, and a job at its limit blocks nobody else.

Instances that are kept limit all other jobs to what is left beside them. Of several bookings of a pool, each set of
them limits the jobs that none of the set is for: only so all of them find what is kept (decision 120).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations

from headway.bookings.booking import HORIZON_MS, Booking
from headway.job_terms import JobTerms
from headway.model import LATE_MS, Calendar, Demand, Limit, SizeChange, Snapshot
from headway.payers import Payer
from headway.policy import Policy
from headway.scheduling.alternatives import choices

_MARK = "@"

_Group = tuple[str, str, tuple[str, ...]]
"""The team, the owner and the tags of jobs: what limits tell them apart by."""


class Limits:
    """The limits of one decision, and of jobs as far as they are asked for.

    Attributes:
        sizes: instances per pool and per limit, as far as jobs of the snapshot have it.
        calendars: the later sizes, the same way.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._policy = policy = snapshot.policy
        self._bookings: dict[str, list[Booking]] = {}
        for each in policy.bookings:
            if each.pool in snapshot.pools:
                self._bookings.setdefault(each.pool, []).append(each)
        self._is_any = bool(
            self._bookings
            or policy.owner_limit
            or any(team.limit or team.owner_limit for team in policy.teams.values())
        )
        self._known: dict[str, Limit] = {}
        self._keys_of: dict[_Group, tuple[tuple[str, str], ...]] = {}
        self.sizes = dict(snapshot.pools)
        self.calendars = dict(snapshot.calendars)
        if self._is_any:
            self._kept = {(each.name, each.pool): self._kept_now(each) for each in policy.bookings}
            for terms in self._all_terms():
                self._keys(terms)

    def __bool__(self) -> bool:
        return self._is_any

    def charged(self, demand: Demand, terms: JobTerms) -> Demand:
        """A demand together with its use of limits.

        Args:
            demand: instances per pool.
            terms: those of the job, which is of the snapshot.
        """
        if not self._is_any:
            return demand
        keys = self._keys(terms)
        if not keys:
            return demand
        return {**demand, **{key: demand[pool] for pool, key in keys if pool in demand}}

    def group(self, terms: JobTerms) -> tuple[str, ...]:
        """The team and the limits of a job: jobs of one group are limited alike."""
        return (terms.team, *(key for _, key in self._keys(terms))) if self._is_any else (terms.team,)

    def of(self, key: str) -> Limit:
        """The limit that a name in :attr:`sizes` is of."""
        return self._known[key]

    def kept(self, booking: Booking) -> int:
        """How many instances of its pool a booking keeps now: what was given back is not."""
        return self._kept[booking.name, booking.pool]

    def largest(self, key: str) -> int:
        """The most that a limit ever allows from now on."""
        limit = self._known[key]
        return max([limit.size, *(each.size for each in limit.changes)])

    def _all_terms(self) -> Iterator[JobTerms]:
        yield from (each.terms for each in self._snapshot.allocations)
        yield from (each.terms for each in self._snapshot.waiting)

    def _keys(self, terms: JobTerms) -> tuple[tuple[str, str], ...]:
        """The limits of these jobs, each with its pool."""
        group = (terms.team, terms.owner, terms.budget_tags)
        keys = self._keys_of.get(group)
        if keys is None:
            keys = self._keys_of[group] = tuple(self._found(terms.payer))
        return keys

    def _found(self, payer: Payer) -> Iterator[tuple[str, str]]:
        team = self._policy.team(payer.team)
        for pool, size in team.limit.items():
            yield self._add(pool, f"team {payer.team}", partial(Limit, pool=pool, size=size, team=payer.team))
        # Those whose owner is not known share no limit.
        of_owner = {pool: size for pool, size in self._policy.owner_limit.items() if payer.owner}
        of_owner_in_team = {pool: size for pool, size in team.owner_limit.items() if payer.owner}
        for pool, size in of_owner.items():
            yield self._add(pool, f"owner {payer.owner}", partial(Limit, pool=pool, size=size, owner=payer.owner))
        for pool, size in of_owner_in_team.items():
            limit = partial(Limit, pool=pool, size=size, team=payer.team, owner=payer.owner)
            yield self._add(pool, f"owner {payer.owner} in {payer.team}", limit)
        for pool, bookings in self._bookings.items():
            others = [each for each in bookings if not each.covers(payer)]
            for count in range(1, len(others) + 1):
                for some in combinations(others, count):
                    name = f"beside {' and '.join(each.name for each in some)}"
                    yield self._add(pool, name, partial(self._beside, some))

    def _add(self, pool: str, name: str, limit: Callable[[], Limit]) -> tuple[str, str]:
        key = f"{pool}{_MARK}{name}"
        if key not in self._known:
            made = self._known[key] = limit()
            self.sizes[key] = made.size
            if made.changes:
                self.calendars[key] = Calendar(changes=made.changes)
        return pool, key

    def _beside(self, bookings: tuple[Booking, ...]) -> Limit:
        """What is left of a pool beside bookings."""
        pool, now_ms = bookings[0].pool, self._snapshot.now_ms
        size = self._snapshot.pools[pool]
        calendar = self._snapshot.calendars.get(pool)
        # Where attempts are stopped for a change of the pool's size, jobs may run into it.
        changes = () if calendar is None or calendar.stops else calendar.changes
        sizes = {change.at_ms: change.size for change in changes if change.at_ms > now_ms}
        # Other jobs have to end before a decision that may start those that the instances are kept for.
        begins = {each.name: _begins(each, now_ms) for each in bookings}
        times = {at_ms for each in bookings for at_ms in begins[each.name]} | sizes.keys()
        left: list[SizeChange] = []
        now = max(0, size - sum(self.kept(each) for each in bookings))
        for at_ms in sorted(times):
            size = sizes.get(at_ms, size)
            kept = sum(self._count_at(each, at_ms) for each in bookings)
            left.append(SizeChange(at_ms=at_ms, size=max(0, size - kept)))
        horizon_ms = now_ms + HORIZON_MS
        last = max(0, size - sum(each.most_after(horizon_ms) for each in bookings))
        left.append(SizeChange(at_ms=max(horizon_ms, *(times or {0})) + 1, size=last))
        return Limit(pool=pool, size=now, changes=tuple(_changing(now, left)), bookings=bookings)

    def _count_at(self, booking: Booking, at_ms: int) -> int:
        window, now = booking.window(at_ms + LATE_MS), booking.window(self._snapshot.now_ms + LATE_MS)
        # What a window has given back is kept again in the next one.
        return self.kept(booking) if window == now else booking.count_at(at_ms + LATE_MS)

    def _kept_now(self, booking: Booking) -> int:
        """How many instances are kept now: what was given back is not, but for what its jobs hold and wait for."""
        now_ms, pool = self._snapshot.now_ms, booking.pool
        count = booking.count_at(now_ms + LATE_MS)
        if not booking.has_lapsed(now_ms):
            return count
        used = sum(each.demand.get(pool, 0) for each in self._snapshot.allocations if booking.covers(each.terms.payer))
        for job in self._snapshot.waiting:
            if used < count and booking.covers(job.terms.payer):
                used += max(each.demand.get(pool, 0) for each in choices(job))
        return min(count, used)


def limited_pools(policy: Policy) -> set[str]:
    """The pools in which instances are booked, or limited by owner: what starts there depends on what else does."""
    of_owners = (team.owner_limit for team in policy.teams.values())
    return {each.pool for each in policy.bookings}.union(policy.owner_limit, *of_owners)


def is_limit(pool: str) -> bool:
    """Whether this is the name of a limit rather than of a pool."""
    return _MARK in pool


def _begins(booking: Booking, now_ms: int) -> list[int]:
    """When another number of instances is kept, ms: a decision before each window begins, and when it ends."""
    return [at_ms - LATE_MS for at_ms in booking.times(now_ms + LATE_MS)]


def _changing(size: int, changes: Iterable[SizeChange]) -> Iterator[SizeChange]:
    for each in changes:
        if each.size != size:
            yield each
            size = each.size


def without_limits(demand: Mapping[str, int]) -> dict[str, int]:
    """The pools of a demand with its use of limits."""
    return {pool: count for pool, count in demand.items() if not is_limit(pool)}
