"""The attempts that hold instances during a decision, indexed by pool."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from heapq import merge

from headway.model import Allocation, Demand, Snapshot
from headway.payers import Payer
from headway.policy import Policy
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.equals.current import current_turn_ms
from headway.scheduling.equals.victims import may_give_way, measure
from headway.scheduling.limits import Limits
from headway.scheduling.lost_work.moment import better_moment_ms
from headway.scheduling.ordering import running_priority, victim_order, waiting_victim_order
from headway.vectors import total

_NEVER_MS = 1 << 62


class AllocationIndex:
    """All attempts of a snapshot. Those that the decision preempts go from the live to the stopping ones, one by one.

    Pools are pools and limits alike (:mod:`headway.scheduling.limits`).

    Attributes:
        stopping: stopping attempts, first those from before this decision, by name.
        warm: warm pools that are neither claimed nor being released, by name.
        unused: these, and attempts that lack their instances and are not stopping, by name.
    """

    def __init__(self, snapshot: Snapshot, comparisons: Comparisons, limits: Limits) -> None:
        self._snapshot = snapshot
        self._comparisons = comparisons
        self._policy = snapshot.policy
        self._charges = _charges(snapshot, limits) if limits else {}
        self._live = {a.attempt: a for a in snapshot.allocations if not a.stopping}
        self.warm = {a.attempt: a for a in self._live.values() if a.warm}
        self.unused = {a.attempt: a for a in self._live.values() if a.is_unused}
        self.stopping = sorted((a for a in snapshot.allocations if a.stopping), key=lambda each: each.attempt)
        #: By pool, and by pools, computed at first use.
        self._by_pool: dict[str, list[Allocation]] | None = None
        self._victim_orders: dict[tuple[int, tuple[str, ...]], list[Allocation]] = {}
        self._waiting_orders: dict[tuple[int, tuple[str, ...]], _WaitingOrder] = {}
        self._lowest: int | None = None
        self._equals: tuple[int, int] | None = None

    @property
    def held(self) -> dict[str, int]:
        """What all attempts of the snapshot hold together."""
        return total(self._charges.values() or (a.demand for a in self._snapshot.allocations))

    @property
    def live(self) -> Mapping[str, Allocation]:
        """Attempts that hold instances and are not stopping, and warm pools alike, by name."""
        return self._live

    @property
    def working(self) -> list[Allocation]:
        """The live ones whose instances count as their teams'."""
        return [each for each in self._live.values() if each.counts_for_team]

    @property
    def lowest_priority(self) -> int:
        """The lowest protecting priority of the live attempts. There must be at least one.

        Worked out once: attempts only leave, so it stays a bound.
        """
        if self._lowest is None:
            self._lowest = min(running_priority(each, self._policy) for each in self._live.values())
        return self._lowest

    @property
    def equals(self) -> tuple[int, int]:
        """The latest turn, ms, and the largest measure of the live attempts that may give way to equals; 0 without any.

        Worked out once, as :attr:`lowest_priority`.
        """
        if self._equals is None:
            now_ms = self._snapshot.now_ms
            equals = [each for each in self._live.values() if may_give_way(each, now_ms, self._policy)]
            self._equals = (
                max((current_turn_ms(each, now_ms) for each in equals), default=0),
                max((measure(each, now_ms, self._policy) for each in equals), default=0),
            )
        return self._equals

    def charged(self, allocation: Allocation) -> Demand:
        """What an attempt takes of pools and of its limits."""
        return self._charges.get(allocation.attempt, allocation.demand)

    def stop(self, attempt: Allocation) -> None:
        """An attempt is preempted by this decision, or a warm pool claimed or released."""
        del self._live[attempt.attempt]
        self.warm.pop(attempt.attempt, None)
        self.unused.pop(attempt.attempt, None)
        self.stopping.append(attempt)

    def of(self, pools: Collection[str]) -> tuple[Allocation, ...]:
        """Attempts that hold some of these pools, stopping or not, each once."""
        if self._by_pool is None:
            self._by_pool = {}
            for allocation in self._snapshot.allocations:
                for pool in self.charged(allocation):
                    self._by_pool.setdefault(pool, []).append(allocation)
        if len(pools) == 1:
            return tuple(self._by_pool.get(next(iter(pools)), ()))
        return tuple({a.attempt: a for pool in pools for a in self._by_pool.get(pool, ())}.values())

    def in_victim_order(self, pools: Collection[str], at_ms: int, until_ms: int | None = None) -> Iterator[Allocation]:
        """Live attempts that hold some of these pools, by :func:`headway.scheduling.ordering.victim_order`.

        Where their stop may wait, they are in the order of :func:`headway.scheduling.ordering.waiting_victim_order`.

        Args:
            at_ms: when they would be preempted, ms.
            until_ms: until when that may wait for a checkpoint, ms; None if it may not.
        """
        names, policy = tuple(sorted(pools)), self._policy
        if until_ms is not None:
            waiting = self._waiting_orders.get((at_ms, names))
            if waiting is None:
                running = [each for each in self.of(names) if not each.stopping]
                waiting = self._waiting_orders[at_ms, names] = _WaitingOrder(running, at_ms, policy)
                self._comparisons.made += 4 * len(running)
            return (each for each in waiting.until(until_ms) if each.attempt in self._live)
        order = self._victim_orders.get((at_ms, names))
        if order is None:
            order = sorted(
                (a for a in self.of(names) if not a.stopping), key=lambda each: victim_order(each, at_ms, policy)
            )
            self._victim_orders[at_ms, names] = order
            self._comparisons.made += 2 * len(order)
        return (each for each in order if each.attempt in self._live)


class _WaitingOrder:
    """Attempts in the order of preemption for jobs whose preemptions may wait, each until another time.

    Each attempt is stopped now or at its better moment, so two sorted lists have the order for any of these times.
    """

    def __init__(self, running: Collection[Allocation], at_ms: int, policy: Policy) -> None:
        moments = {each.attempt: better_moment_ms(each, at_ms, policy) for each in running}
        self._better_ms = {attempt: better_ms for attempt, better_ms in moments.items() if better_ms is not None}
        self._now = sorted((waiting_victim_order(each, at_ms, at_ms, policy), each.attempt, each) for each in running)
        self._later = sorted(
            (waiting_victim_order(each, at_ms, better_ms, policy), each.attempt, each)
            for each in running
            if (better_ms := moments[each.attempt]) is not None
        )

    def until(self, until_ms: int) -> Iterator[Allocation]:
        """All attempts, in the order for a job whose preemption may wait until then, ms."""
        now = (entry for entry in self._now if self._better_ms.get(entry[1], _NEVER_MS) > until_ms)
        later = (entry for entry in self._later if self._better_ms[entry[1]] <= until_ms)
        return (each for _, _, each in merge(now, later))


def _charges(snapshot: Snapshot, limits: Limits) -> dict[str, Demand]:
    """What each attempt takes of pools and limits. Attempts alike share it, as there are few kinds of them."""
    kinds: dict[tuple[Payer, tuple[tuple[str, int], ...]], Demand] = {}
    charges: dict[str, Demand] = {}
    for each in snapshot.allocations:
        kind = (each.terms.payer, tuple(each.demand.items()))
        charged = kinds.get(kind)
        if charged is None:
            charged = kinds[kind] = limits.charged(each.demand, each.terms)
        charges[each.attempt] = charged
    return charges
