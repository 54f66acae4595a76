"""How many instances of a pool jobs could get, beside those of attempts that they cannot preempt."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

from headway.model import Snapshot, WaitingJob
from headway.scheduling.equals.current import current_turn_ms
from headway.scheduling.equals.victims import least_measure, may_give_way, measure, takes_part
from headway.scheduling.ordering import capped_priority, running_priority

_LAST_TURN_MS = 1 << 62


class Attainable:
    """Most instances of a pool that waiting jobs could get: all but those of attempts that they cannot preempt."""

    def __init__(self, pool: str, snapshot: Snapshot) -> None:
        self._pool = pool
        self._size = snapshot.pools[pool]
        self._policy = policy = snapshot.policy
        now_ms = snapshot.now_ms
        #: Allocated instances by the priority that protects them.
        self._held: Counter[int] = Counter()
        self._known: dict[tuple[int, str], int] = {}
        equals: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        #: By priority, and by team where there are teams: the largest measure of attempts that may give way to equals.
        self._largest: Counter[tuple[int, str]] = Counter()
        for each in snapshot.allocations:
            if not each.stopping and pool in each.demand:
                protection = running_priority(each, policy)
                self._held[protection] += each.demand[pool]
                if may_give_way(each, now_ms, policy):
                    peers = (protection, self._peers(each.terms.team))
                    self._largest[peers] = max(self._largest[peers], measure(each, now_ms, policy))
                    equals[peers].append((current_turn_ms(each, now_ms), each.demand[pool]))
        #: Of the attempts that may give way to equals, by priority, and by team where there are teams: their turns, the
        #: last one first and negated, and what those up to each hold together.
        self._equals = {
            peers: ([-turn_ms for turn_ms, _ in last_first], [*accumulate(count for _, count in last_first)])
            for peers, them in equals.items()
            if (last_first := sorted(them, reverse=True))
        }

    def of(self, priority: int, team: str, turn_ms: int = 0) -> int:
        """How many instances jobs of this given priority from a turn on, or of lower priorities, could get together.

        This includes reserved instances and those being freed, as a job may leave the queue or be overtaken. It also
        includes everything that the team is guaranteed, and attempts that may give way to equals with this turn.
        """
        known = self._known.get((priority, team))
        if known is None:
            known = self._known[priority, team] = self._count(priority, team)
        if not self._equals or not self._policy.preemption:
            return known
        mine = capped_priority(priority, team, self._policy)
        turns, held = self._equals.get((mine, self._peers(team)), ((), ()))
        later = bisect_left(turns, -turn_ms)
        return known + (held[later - 1] if later else 0)

    def may_fill(self, job: WaitingJob) -> bool:
        """Whether a job could get some of these instances. If not, it leaves them to jobs behind it.

        A job of which too much is left, or whose level is too high, preempts no equals, and neither does one that
        entered in another order.
        """
        if not self._equals or self.of(job.terms.priority, job.terms.team, _LAST_TURN_MS) > 0:
            return True
        mine = capped_priority(job.terms.priority, job.terms.team, self._policy)
        largest = self._largest[mine, self._peers(job.terms.team)]
        return takes_part(job, self._policy) and least_measure(job, self._policy) <= largest

    def _peers(self, team: str) -> str:
        """What jobs that preempt each other as equals have in common beside their priority."""
        return team if self._policy.teams else ""

    def _count(self, priority: int, team: str) -> int:
        if not self._policy.preemption:
            return self._size - self._held.total()
        mine = capped_priority(priority, team, self._policy)
        kept = sum(count for held, count in self._held.items() if held >= mine)
        return min(self._size, self._size - kept + self._policy.team(team).guaranteed.get(self._pool, 0))
