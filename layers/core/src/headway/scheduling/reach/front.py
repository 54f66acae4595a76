"""How far a decision has to see into each queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from headway.budgets.budget import spent
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.policy import Policy
from headway.scheduling.backfill.size_changes import largest_size, later_changes
from headway.scheduling.limits import Limits
from headway.scheduling.reach.attainable import Attainable
from headway.scheduling.reach.bounds import QueueBounds

FEW = 8
"""Jobs that are enough of most queues, beside their share of the window."""


def fronts(snapshot: Snapshot, teams: Sequence[str], *, heads: int, passing: Collection[str] | None) -> Iterator[Front]:
    """The front of each queue; there is one queue per team and pool.

    In a full pool no job can pass those ahead of it. In any other, all queues share the window of backfill.

    Args:
        snapshot: all but its waiting jobs.
        teams: the teams with queues; an empty name for jobs without a team.
        heads: the fewest jobs of each queue.
        passing: pools in which jobs may pass those ahead of them; None for all pools that are not full.
    """
    policy, sizes = snapshot.policy, snapshot.pools
    share = -(-policy.backfill_window // (len(sizes) * len(teams))) if policy.backfill and sizes else 0
    most = {pool: _most(pool, snapshot) for pool in sizes}
    gone = spent(policy.budgets, snapshot.budget_use, snapshot.now_ms)
    limits = Limits(snapshot)
    unused = {team: _unused_guarantee(team, snapshot.allocations, policy) for team in teams}
    for pool, size in sizes.items():
        attainable = Attainable(pool, snapshot)
        # Jobs further back may start in warm pools.
        held = sum(each.demand.get(pool, 0) for each in snapshot.allocations if not each.warm)
        may_pass = held < size and (passing is None or pool in passing)
        for team in teams:
            bounds = QueueBounds(
                pool=pool,
                team=team,
                now_ms=snapshot.now_ms,
                most=most,
                limits=limits,
                unused=unused[team],
                spent=gone,
            )
            behind = share if may_pass else policy.reserved_heads - 1
            yield Front(bounds, attainable, min(size, most[pool]), share=behind, heads=heads)


class Front:
    """The first jobs of a queue: all that could get instances, the next one, and a share of the window; at least heads.

    They cannot all start or preempt, so a decision without backfill looks no further.

    Some jobs cannot start: those that demand more than the size of a pool or than a limit (since that was reduced), or
    a paused pool, and those whose limits other jobs fill. They must not hide the jobs behind them. A team that holds
    less of a pool than its guarantee gets the rest for jobs that the guarantee covers, and these pass larger jobs of
    their own team. So jobs that would borrow must not hide them: of these a front has as many as could get all of the
    rest, and one more.

    Args:
        bounds: what the jobs of the queue may demand.
        attainable: how many instances of its pool jobs of a priority could get.
        reach: how many any job could get now.
        share: jobs behind those that could get instances.
        heads: the fewest jobs.

    Attributes:
        jobs: the jobs so far, in rank order.
        expected: how many jobs are probably enough.
        is_complete: whether no further job is needed.
        only_covered: whether only jobs that the rest of the guarantee covers are needed.
    """

    def __init__(self, bounds: QueueBounds, attainable: Attainable, reach: int, *, share: int, heads: int) -> None:
        self.bounds = bounds
        self.heads = heads
        self.jobs: list[WaitingJob] = []
        self.is_complete = False
        self.only_covered = False
        self._attainable = attainable
        self._reach = reach
        self._share = share
        #: Instances that the jobs so far demand, which take them from those behind them, and what they take of limits.
        self._filled = 0
        self._of_limits = Counter[str]()
        self._fitting = self._behind = 0
        #: Instances that covered jobs demand, and what is left of the rest of the guarantee after them.
        self._covered = 0
        self._left = dict(bounds.unused)
        # A queue of large jobs is not read to its end.
        self.expected = max(heads, share + min(reach + 1, FEW), (attainable.of(0, bounds.team) + 1 + share) // 4)

    @property
    def is_closed(self) -> bool:
        """Whether no job of the queue can start, so that only the heads are needed."""
        return not self._reach

    def add(self, job: WaitingJob) -> None:
        """Take the next job of the queue, if it is needed."""
        demand = self.bounds.here(job).demand
        is_covered = self.bounds.covers(job)
        if is_covered:
            self._cover(demand)
        if is_covered or not self.only_covered:
            self.jobs.append(job)
        if self.bounds.fits(job):
            self._fill(job, demand)
            self._end_if_complete()

    def _cover(self, demand: Demand) -> None:
        self._covered += demand[self.bounds.pool]
        if all(count <= self._left[each] for each, count in demand.items()):
            self._left = {each: count - demand.get(each, 0) for each, count in self._left.items()}

    def _fill(self, job: WaitingJob, demand: Demand) -> None:
        # With ageing, a job that could get fewer instances may come first: after it, others pass only within the share.
        reach = self._attainable.of(job.terms.priority, self.bounds.team, job.terms.turn_ms)
        self._reach = min(self._reach, reach)
        of_limits, limits = self.bounds.of_limits(job), self.bounds.limits
        is_over = any(self._of_limits[key] + count > limits.of(key).size for key, count in of_limits.items())
        self._behind += is_over or self._filled > self._reach
        self._fitting += 1
        # A job that preempts nobody leaves what it lacks to jobs behind it, and so does one whose limits those ahead of
        # it fill. One with alternatives may start elsewhere.
        if job.preempts and not job.alternatives and not is_over and self._attainable.may_fill(job):
            self._filled += demand[self.bounds.pool]
            self._of_limits.update(of_limits)

    def _end_if_complete(self) -> None:
        if self._filled <= self._reach or self._behind < self._share or self._fitting < self.heads:
            return
        pool, unused = self.bounds.pool, self.bounds.unused.get(self.bounds.pool, 0)
        self.is_complete = unused <= 0 or (self._left[pool] <= 0 and self._covered > unused)
        self.only_covered = True


def _most(pool: str, snapshot: Snapshot) -> int:
    """The most instances that one job can get from now on; 0 of a paused pool, in whichever other queues it is."""
    if pool in snapshot.pauses:
        return 0
    return largest_size(snapshot.pools[pool], later_changes(snapshot.calendars.get(pool), snapshot.now_ms))


def _unused_guarantee(team: str, allocations: Sequence[Allocation], policy: Policy) -> dict[str, int]:
    """What a team is guaranteed and does not hold, per pool; attempts that are stopping do not count as held."""
    held = Counter[str]()
    for each in allocations:
        if each.terms.team == team and each.counts_for_team and not each.stopping:
            held.update(each.demand)
    return {pool: count - held[pool] for pool, count in policy.team(team).guaranteed.items()}
