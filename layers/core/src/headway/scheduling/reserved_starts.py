"""The blocked jobs that everybody behind them must not delay, and what their starts count on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headway.model import Allocation, Demand, WaitingJob
from headway.policy import Policy
from headway.scheduling.allocation_index import Holders
from headway.scheduling.backfill import Change, ReservedStart, reserve_start
from headway.scheduling.looks import Looks
from headway.vectors import overlap, total

Combination = tuple[str, ...]
"""Pools, or team limits, that a job needs together, in order of their names."""

#: From when on an attempt may be stopped for a blocked job, ms; None for never.
GivesWay = Callable[[Allocation], int | None]

_NEVER_MS = 1 << 62


class Heads:
    """The reserved starts of one decision, in rank order."""

    def __init__(self, holders: Holders, policy: Policy, now_ms: int, looks: Looks) -> None:
        self._looks = looks
        self._holders = holders
        self._depth = policy.reserved_heads if policy.backfill else 1
        self._backfill = policy.backfill
        self._now_ms = now_ms
        self._heads: list[ReservedStart] = []
        self._by_pool: dict[str, list[ReservedStart]] = {}
        self._by_combination: dict[Combination, list[ReservedStart]] = {}
        #: What the jobs that this decision has started, or made sure of their instances, hold, and until when.
        self._placed: list[Change] = []
        #: Victims that a reserved start counts on, and when.
        self._yields: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._heads)

    def first(self, combination: Combination) -> ReservedStart | None:
        """The first blocked job of a combination of pools."""
        heads = self._by_combination.get(combination)
        return heads[0] if heads else None

    def are_full(self, combination: Combination) -> bool:
        """Whether no further job of this combination gets a reserved start."""
        return len(self._by_combination.get(combination, ())) >= self._depth

    def delayed_by(self, need: Demand, until_ms: int | None) -> ReservedStart | None:
        """The first reserved start that taking ``need`` from now to then (None: for ever) would delay."""
        for pool in need:
            heads = self._by_pool.get(pool, ())
            self._looks.taken += len(heads)
            for head in heads:
                if head.is_delayed_by(need, self._now_ms, until_ms):
                    return head
        return None

    def place(self, takes: Demand, charged: Demand, until_ms: int | None, *, starts: bool) -> None:
        """Somebody whom no reserved start minds gets instances.

        Args:
            takes: what it takes of what the reserved starts may count on.
            charged: all that it will hold.
            until_ms: when it has ended at the latest if it starts now; None if nothing limits it.
            starts: whether it starts now. If not, its limit proves nothing about when it has ended.
        """
        for head in self._heads:
            head.share(takes, self._now_ms, until_ms if starts else None)
        if until_ms is not None:
            self._placed.append((until_ms, charged, 1))

    def reserve(
        self,
        job: WaitingJob,
        need: Demand,
        combination: Combination,
        available: Demand,
        gives_way: GivesWay | None,
        otherwise: Demand,
    ) -> ReservedStart:
        """Reserve the earliest start for a blocked job. Asked only while its combination is not full.

        Args:
            job: the blocked job.
            need: what it takes beyond what is reserved or being freed for it.
            combination: where it stands in line.
            available: what nobody has a claim on now, or negative where a pool was shrunk below its use.
            gives_way: who may be stopped for it; None if it preempts nobody.
            otherwise: the part of the need that is kept for it if nobody can tell when it starts.
        """
        if self._backfill:
            not_before_ms = max(self._now_ms, job.not_before_ms)
            changes = [*self._placed, *self._ends(need, gives_way)]
            others = [head for head in self._heads if not head.slack.keys().isdisjoint(need)]
            # At worst each start of another job is compared at each moment at which something comes free.
            self._looks.taken += len(self._heads) + len(changes) * (1 + len(others)) // 4
            start = reserve_start(job, need, available, changes, others, not_before_ms)
            if start.start_ms is None and otherwise != need:
                start = reserve_start(job, otherwise, available, changes, others, not_before_ms)
        else:
            # Nobody passes: its pools are closed to what is not reserved for others already.
            slack = dict.fromkeys(combination, 0)
            start = ReservedStart(job=job, start_ms=None, end_ms=None, need=otherwise, slack=slack)
        self._heads.append(start)
        for pool in start.slack:
            self._by_pool.setdefault(pool, []).append(start)
        self._by_combination.setdefault(combination, []).append(start)
        return start

    def _ends(self, pools: Iterable[str], gives_way: GivesWay | None) -> Iterator[Change]:
        holding = self._holders.of(tuple(pools))
        self._looks.taken += len(holding)
        for allocation in holding:
            if allocation.attempt in self._holders.live:
                end_ms = self._counted_from_ms(allocation, gives_way)
                if end_ms < _NEVER_MS:
                    yield (end_ms, self._holders.charged(allocation), 1)

    def _counted_from_ms(self, allocation: Allocation, gives_way: GivesWay | None) -> int:
        """From when on a blocked job counts on what an attempt holds."""
        end_ms = _NEVER_MS
        if allocation.limit_ms is not None:
            end_ms = max(self._now_ms, allocation.since_ms + allocation.limit_ms)
        end_ms = min(end_ms, self._yields.get(allocation.attempt, end_ms))
        if gives_way is not None:
            from_ms = gives_way(allocation)
            if from_ms is not None:
                end_ms = min(end_ms, max(self._now_ms, from_ms))
        return end_ms

    def ended_by(self, pools: Iterable[str], time_ms: int) -> dict[str, int]:
        """What live attempts that hold some of these pools have given back by then, without anybody preempted."""
        return total(demand for end_ms, demand, _ in self._ends(pools, None) if end_ms <= time_ms)

    def count_on(self, victims: Iterable[Allocation], time_ms: int) -> None:
        """A reserved start needs these attempts stopped then, so later ones count on their ends."""
        for victim in victims:
            self._yields[victim.attempt] = time_ms

    def uncounted(
        self, victims: Iterable[Allocation], gives_way_to: Callable[[WaitingJob], GivesWay | None]
    ) -> dict[str, int]:
        """What victims free that no reserved start counts on, so that taking it delays nobody."""
        victims = tuple(victims)
        self._looks.taken += len(victims) * len(self._heads)
        return total(
            frees
            for victim in victims
            if all(
                head.start_ms is not None and self._counted_from_ms(victim, gives_way_to(head.job)) > head.start_ms
                for head in self._heads
                if overlap(frees := self._holders.charged(victim), head.need)
            )
        )
