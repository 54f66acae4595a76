"""How many members of arrays that are in no queue yet will be ahead of a waiting job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.forecasting.members import ArrayToCome
from headway.model import WaitingJob
from headway.policy import Policy
from headway.scheduling.alternatives import pools_of
from headway.scheduling.ordering import waiting_rank


class MembersAhead:
    """Counts them, by the order of jobs now, except for the use of teams.

    Args:
        now_ms: the present, ms.
        policy: the policy in effect.
    """

    def __init__(self, arrays: Iterable[ArrayToCome], now_ms: int, policy: Policy) -> None:
        self._now_ms = now_ms
        self._policy = policy
        self._arrays = [(each, pools_of(each.member), self._rank(each.member)) for each in arrays]

    def of(self, job: WaitingJob) -> Mapping[str, int]:
        """By array, how many of its members are ahead of a job in one of the pools of its first preference."""
        if not self._arrays:
            return {}
        pools, rank = job.demand.keys(), self._rank(job)
        found: dict[str, int] = {}
        for array, demanded, (priority, turn_ms, _) in self._arrays:
            ahead = sum(self._rank(each) < rank and bool(pools & pools_of(each)) for each in array.set_aside)
            if not pools.isdisjoint(demanded):
                if (priority, turn_ms) == rank[:2]:
                    ahead += sum(name < job.name for name in array.unmade_names())
                elif (priority, turn_ms) < rank[:2]:
                    ahead += array.unmade
            if ahead:
                found[array.name] = ahead
        return found

    def _rank(self, job: WaitingJob) -> tuple[int, int, str]:
        return waiting_rank(job, self._now_ms, self._policy)
