"""The reserved starts of blocked jobs, which no job behind them may delay, and the instances they rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from headway.model import STOP_MS, Allocation, Demand, WaitingJob
from headway.policy import Policy
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.backfill.claims import CapacityChange, Claim, FoundStart, ReservedStart, reserve_start
from headway.scheduling.backfill.size_changes import SizeChanges
from headway.scheduling.comparisons import Comparisons
from headway.vectors import minus, overlap, positive, total

Combination = tuple[str, ...]
"""Pools, or team limits, that a job needs together, in order of their names."""

#: From when on an attempt may be stopped for a blocked job, ms; None for never.
PreemptibleFrom = Callable[[Allocation], int | None]

_NEVER_MS = 1 << 62


@dataclass(frozen=True, kw_only=True, slots=True)
class StartTerms:
    """What a reserved start of a job depends on, beside the attempts that run and the starts before it."""

    #: What it needs beyond what is promised to it.
    need: Demand
    #: Instances without a claim now; negative where a pool was made smaller than its use.
    available: Demand
    #: What is promised to jobs behind it, and when they have ended on that.
    returned: tuple[CapacityChange, ...] = ()
    #: When an attempt may be preempted for it; None if it cannot preempt.
    preemptible_from_ms: PreemptibleFrom | None = None


class ReservedStarts:
    """The reserved starts of one decision, in rank order."""

    def __init__(
        self, index: AllocationIndex, policy: Policy, now_ms: int, comparisons: Comparisons, size_changes: SizeChanges
    ) -> None:
        self._comparisons = comparisons
        self._size_changes = size_changes
        self._index = index
        self._depth = policy.reserved_heads if policy.backfill else 1
        self._backfill = policy.backfill
        self._now_ms = now_ms
        self._starts: list[ReservedStart] = []
        self._by_pool: dict[str, list[ReservedStart]] = {}
        self._by_combination: dict[Combination, list[ReservedStart]] = {}
        #: What the jobs that this decision has started, or made sure of their instances, hold, and until when.
        self._placed: list[CapacityChange] = []
        #: Victims that a reserved start counts on, and when.
        self._expected_stops: dict[str, int] = {}
        #: When attempts may be preempted for a job whose start needs victims that cannot be chosen yet, by job.
        self._unchosen: dict[str, PreemptibleFrom] = {}

    def __bool__(self) -> bool:
        return bool(self._starts)

    def first(self, combination: Combination) -> ReservedStart | None:
        """The first blocked job of a combination of pools."""
        starts = self._by_combination.get(combination)
        return starts[0] if starts else None

    def is_at_depth(self, combination: Combination) -> bool:
        """Whether no further job of this combination gets a reserved start."""
        return len(self._by_combination.get(combination, ())) >= self._depth

    def delayed_by(self, need: Demand, until_ms: int | None) -> ReservedStart | None:
        """The first reserved start that taking ``need`` from now to then (None: for ever) would delay.

        Args:
            need: instances per pool.
            until_ms: the end of the use, ms; None for an unknown end.
        """
        first: ReservedStart | None = None
        for pool in need:
            starts = self._by_pool.get(pool, ())
            self._comparisons.made += len(starts)
            for head in starts:
                if first is not None and head.number >= first.number:
                    break
                if head.is_delayed_by(need, self._now_ms, until_ms):
                    first = head
                    break
        return first

    def all_delayed_by(self, need: Demand, until_ms: int | None) -> Iterator[ReservedStart]:
        """All reserved starts that taking ``need`` from now to then (None: for ever) would delay.

        Args:
            need: instances per pool.
            until_ms: the end of the use, ms; None for an unknown end.
        """
        self._comparisons.made += len(self._starts)
        return (head for head in self._starts if head.is_delayed_by(need, self._now_ms, until_ms))

    def room_until_ms(self, need: Demand) -> int | None:
        """Until when ``need`` can be taken from now without delaying a reserved start, ms; None if for no known time.

        Args:
            need: instances per pool, which delay one if they are taken for ever.
        """
        starts = {head.number: head for pool in need for head in self._by_pool.get(pool, ())}
        self._comparisons.made += len(starts)
        ends = [head.start_ms for head in starts.values() if head.is_delayed_by(need, self._now_ms, None)]
        known = [end_ms for end_ms in ends if end_ms is not None]
        return min(known) if known and len(known) == len(ends) else None

    def room(self, need: Demand) -> Demand:
        """The part of ``need`` that can be taken from now for ever without delaying a reserved start, per pool.

        Args:
            need: instances per pool.
        """
        found = {}
        for pool, count in need.items():
            starts = self._by_pool.get(pool, ())
            self._comparisons.made += len(starts)
            found[pool] = min([count, *(head.slack.get(pool, count) for head in starts)])
        return positive(found)

    def account_for(self, takes: Demand, charged: Demand, until_ms: int | None, proven_ms: int | None) -> None:
        """Account for instances that are granted without delaying a reserved start.

        Args:
            takes: the instances among those that reserved starts may rely on.
            charged: all instances that it will hold.
            until_ms: its latest end if it starts now, ms; None without a limit.
            proven_ms: when it has surely ended, ms; None if that is not known, as it does not start now.
        """
        for head in self._starts:
            head.share(takes, self._now_ms, proven_ms)
        if until_ms is not None:
            self._placed.append((until_ms, charged, 1))

    def reserve(self, job: WaitingJob, terms: StartTerms, combination: Combination, otherwise: Demand) -> ReservedStart:
        """Reserve the earliest start for a blocked job. Called only while its combination is not at its depth.

        Args:
            job: the blocked job.
            terms: what its start depends on.
            combination: the pools that it demands.
            otherwise: the part of the need that is kept for it if its start is unknown.
        """
        found = self._find(job, terms, otherwise)
        if found is not None:
            found.share_slack()
            start = found.start
        else:
            # No job passes: its pools are closed, except for reservations.
            slack = dict.fromkeys(combination, 0)
            start = ReservedStart(job=job, start_ms=None, end_ms=None, need=otherwise, slack=slack)
        start.number = len(self._starts)
        self._starts.append(start)
        for pool in start.slack:
            self._by_pool.setdefault(pool, []).append(start)
        self._by_combination.setdefault(combination, []).append(start)
        return start

    def would_start_ms(self, job: WaitingJob, terms: StartTerms) -> int | None:
        """When a start would be at the latest if it was reserved now, ms; None if that is not known.

        Args:
            job: the job, which nothing is reserved or being freed for.
            terms: what its start depends on.
        """
        found = self._find(job, terms, terms.need)
        return found.start.start_ms if found is not None else None

    def _find(self, job: WaitingJob, terms: StartTerms, otherwise: Demand) -> FoundStart | None:
        """The earliest start beside the reserved ones; None without backfill."""
        if not self._backfill:
            return None
        need, available, preemptible_from_ms = terms.need, terms.available, terms.preemptible_from_ms
        not_before_ms = max(self._now_ms, job.not_before_ms)
        changes = [*self._placed, *self._ends(need), *terms.returned]
        preemptible: list[CapacityChange] = []
        in_gap: list[CapacityChange] = []
        if preemptible_from_ms is not None:
            for allocation, *window in self._preemptible(need, preemptible_from_ms):
                (in_gap if allocation.opportunistic else preemptible).extend(window)
        heads = [head for head in self._starts if not head.slack.keys().isdisjoint(need)]
        others: list[Claim] = [*heads, *self._size_changes.of(need, stops_for_size=job.terms.stops_for_size)]
        # At worst each start of another job is compared at each time at which instances are freed.
        events = len(changes) + len(preemptible) + len(in_gap)
        self._comparisons.made += len(self._starts) + events * (1 + len(others)) // 4
        found = reserve_start(job, need, available, changes, others, not_before_ms, preemptible, in_gap)
        if found.start.start_ms is None and otherwise != need:
            found = reserve_start(job, otherwise, available, changes, others, not_before_ms, preemptible, in_gap)
        return found

    def _live(self, pools: Iterable[str]) -> Iterator[Allocation]:
        holding = self._index.of(tuple(pools))
        self._comparisons.made += len(holding)
        return (allocation for allocation in holding if allocation.attempt in self._index.live)

    def _ends(self, pools: Iterable[str]) -> Iterator[CapacityChange]:
        for allocation in self._live(pools):
            end_ms = self._end_ms(allocation)
            if end_ms < _NEVER_MS:
                yield (end_ms, self._index.charged(allocation), 1)

    def _preemptible(
        self, pools: Iterable[str], preemptible_from_ms: PreemptibleFrom
    ) -> Iterator[tuple[Allocation, CapacityChange, CapacityChange]]:
        for allocation in self._live(pools):
            window_ms = self._window_ms(allocation, preemptible_from_ms)
            if window_ms is not None:
                charged = self._index.charged(allocation)
                yield allocation, (window_ms[0], charged, 1), (window_ms[1], charged, -1)

    def _limit_end_ms(self, allocation: Allocation) -> int:
        if allocation.terms.limit_ms is None:
            return _NEVER_MS
        return max(self._now_ms, allocation.since_ms + allocation.terms.limit_ms)

    def _end_ms(self, allocation: Allocation) -> int:
        """The time by which an attempt has ended without another preemption, ms."""
        end_ms = self._limit_end_ms(allocation)
        return min(end_ms, self._expected_stops.get(allocation.attempt, end_ms))

    def _window_ms(self, allocation: Allocation, preemptible_from_ms: PreemptibleFrom) -> tuple[int, int] | None:
        """From when on, and until when, a job can rely on the preemption of an attempt, ms; None for never."""
        from_ms = preemptible_from_ms(allocation)
        if from_ms is None:
            return None
        # In the last two minutes before its limit a stop would free nothing sooner, so it is no victim.
        margin_ms = 0 if allocation.is_unused else STOP_MS
        until_ms = min(self._limit_end_ms(allocation) - margin_ms, self._end_ms(allocation))
        # It may reach its limit before its minimum run time.
        return (from_ms, until_ms) if (from_ms := max(self._now_ms, from_ms)) < until_ms else None

    def protected_at(self, pools: Iterable[str], time_ms: int, preemptible_from_ms: PreemptibleFrom) -> set[str]:
        """The live attempts on these pools that a job cannot preempt at this time.

        Args:
            preemptible_from_ms: from when on an attempt may be preempted for the job.
        """
        return {
            each.attempt for each in self._live(pools) if not self._is_victim_at(each, time_ms, preemptible_from_ms)
        }

    def _is_victim_at(self, allocation: Allocation, time_ms: int, preemptible_from_ms: PreemptibleFrom) -> bool:
        window_ms = self._window_ms(allocation, preemptible_from_ms)
        return window_ms is not None and window_ms[0] <= time_ms < window_ms[1]

    def expect_stopped(
        self, start: ReservedStart, victims: Sequence[Allocation], preemptible_from_ms: PreemptibleFrom
    ) -> None:
        """Record the victims that a reserved start needs; later starts rely on their stop.

        Other attempts that the job may preempt leave no slack: a job of lower rank that uses it would only make the
        start need more victims.

        Args:
            start: a start at a known time.
            victims: the attempts that the start needs stopped, all preemptible then; empty if it needs none, or if they
                cannot be chosen yet.
            preemptible_from_ms: from when on an attempt may be preempted for the job.
        """
        assert start.start_ms is not None  # noqa: S101 - called for known starts only
        chosen = {victim.attempt for victim in victims}
        unneeded = total(
            self._index.charged(each)
            for each in self._live(start.need)
            if each.attempt not in chosen and self._is_victim_at(each, start.start_ms, preemptible_from_ms)
        )
        if start.lacking and not victims:
            self._unchosen[start.job.name] = preemptible_from_ms
            # Some of these will be needed, whichever they are.
            unneeded = positive(minus(unneeded, start.lacking))
        self._expected_stops |= {victim.attempt: start.start_ms for victim in victims}
        start.slack = {pool: count - unneeded.get(pool, 0) for pool, count in start.slack.items()}

    def unclaimed_by_reservations(self, victims: Iterable[Allocation]) -> dict[str, int]:
        """The instances of victims that no reserved start relies on, so that using them delays no job."""
        victims = tuple(victims)
        self._comparisons.made += len(victims) * len(self._starts)
        return total(
            self._index.charged(victim)
            for victim in victims
            if not any(
                self._relies_on_end(head, victim) or self._may_rely_on_stop(head, victim) for head in self._starts
            )
        )

    def rely_on_end_of(self, allocation: Allocation) -> bool:
        """Whether a reserved start relies on the end of an attempt, by its limit or as it is stopped for that."""
        self._comparisons.made += len(self._starts)
        return any(self._relies_on_end(head, allocation) for head in self._starts)

    def _relies_on_end(self, head: ReservedStart, allocation: Allocation) -> bool:
        charged = self._index.charged(allocation)
        if not self._backfill:
            # All pools of a blocked job are closed.
            return not charged.keys().isdisjoint(head.slack)
        if not overlap(charged, head.need):
            return False
        return head.start_ms is None or self._end_ms(allocation) <= head.start_ms

    def _may_rely_on_stop(self, head: ReservedStart, allocation: Allocation) -> bool:
        """Whether an attempt may be stopped for a start whose victims cannot be chosen yet."""
        preemptible_from_ms = self._unchosen.get(head.job.name)
        if preemptible_from_ms is None or head.start_ms is None:
            return False
        charged = self._index.charged(allocation)
        return bool(overlap(charged, head.need)) and self._is_victim_at(allocation, head.start_ms, preemptible_from_ms)
