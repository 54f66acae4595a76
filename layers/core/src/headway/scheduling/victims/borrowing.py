"""What teams borrow while victims are chosen for a job: a reclaim takes from the largest borrower (decision 116)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from math import inf

from headway.model import Allocation, Demand, WaitingJob
from headway.policy import Policy
from headway.scheduling.fair_share import borrowed, largest_part
from headway.vectors import minus, plus


class Borrowing:
    """What each team would hold, and how much of it is borrowed, without the victims that are chosen so far.

    Args:
        job: the waiting job that looks for victims.
        use: instances per pool that each team holds before.
        pools: the sizes of the pools.
        policy: the rules.
        counts: whether it counts who borrows most: it does for a job that reclaims what its team is guaranteed.
    """

    def __init__(
        self,
        job: WaitingJob,
        use: Mapping[str, Demand],
        pools: Mapping[str, int],
        policy: Policy,
        *,
        counts: bool,
    ) -> None:
        self.counts = counts
        self._team = job.terms.team
        self._pools = pools
        self._policy = policy
        self._use = use
        #: What each team holds. It is copied when the first attempt is a victim: most jobs find none.
        self.left: Mapping[str, Demand] = use
        self._shares: dict[str, float] = {}

    def begin(self) -> None:
        """No attempt is a victim yet."""
        self.left = self._use
        self._shares.clear()

    def stop(self, victim: Allocation) -> None:
        """The attempt is a victim: its team holds that much less."""
        self._hold(victim, minus(self._held(victim), victim.demand))

    def spare(self, victim: Allocation) -> None:
        """The attempt is no victim any more."""
        self._hold(victim, plus(self._held(victim), victim.demand))

    def share(self, allocation: Allocation) -> float:
        """What the team of an attempt borrows over its weight: the dominant part of a pool, as where teams take turns.

        Nothing for the job's own team, and without limit for what is nobody's by right, which goes first.
        """
        team = allocation.terms.team
        if not self.counts:
            return 0.0
        if allocation.is_unused or allocation.opportunistic:
            return inf
        if team == self._team:
            return 0.0
        share = self._shares.get(team)
        if share is None:
            terms = self._policy.team(team)
            beyond = borrowed(self._held(allocation), terms.guaranteed)
            share = self._shares[team] = largest_part(beyond, self._pools) / terms.weight
        return share

    def largest_first(self, in_victim_order: Iterable[Allocation]) -> Iterator[Allocation]:
        """For a reclaim the attempts of the team that borrows most come first; otherwise they stay in their order.

        What teams borrow is looked up anew before each attempt, so the caller may stop them one by one.
        """
        if not self.counts:
            yield from in_victim_order
            return
        queues: dict[str, deque[tuple[int, Allocation]]] = {}
        for place, each in enumerate(in_victim_order):
            if each.is_unused or each.opportunistic:
                # These are before all others in the order of preemption.
                yield each
            else:
                queues.setdefault(each.terms.team, deque()).append((place, each))
        while queues:
            team = max(queues, key=lambda name: (self.share(queues[name][0][1]), -queues[name][0][0]))
            yield queues[team].popleft()[1]
            if not queues[team]:
                del queues[team]

    def _held(self, allocation: Allocation) -> Demand:
        return self.left.get(allocation.terms.team, {})

    def _hold(self, victim: Allocation, held: Demand) -> None:
        if self._policy.teams and victim.counts_for_team:
            self.left = {**self.left, victim.terms.team: held}
            self._shares.pop(victim.terms.team, None)
