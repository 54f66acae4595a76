"""Which jobs of a queue could start, as far as pools and limits decide it. Jobs that cannot must hide no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.model import Demand, WaitingJob
from headway.scheduling.alternatives import in_pools


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueBounds:
    """What a job of one queue may demand.

    Attributes:
        pool: the pool of the queue.
        team: its team; empty for jobs without a team.
        most: the most that one job can get of each pool from now on, by its size and the limit of the team; 0 of a
            paused one.
        unused: the part of the team's guarantee that it does not hold, per pool.
    """

    pool: str
    team: str
    most: Mapping[str, int]
    unused: Mapping[str, int]

    def demand(self, job: WaitingJob) -> Demand:
        """What a job of this queue demands: in each queue it counts with the alternative that it is there for."""
        return in_pools(job, (self.pool,)).demand if job.alternatives else job.demand

    def fits(self, demand: Demand) -> bool:
        """Whether a job with a demand could start."""
        return all(count <= self.most.get(pool, 0) for pool, count in demand.items())

    def covers(self, demand: Demand) -> bool:
        """Whether it could start, and the rest of the team's guarantee covers it."""
        return self.fits(demand) and all(count <= self.unused.get(pool, 0) for pool, count in demand.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class CutQueue:
    """A queue whose first jobs, as many as a decision reads, do not settle which of its jobs start.

    Attributes:
        bounds: what its jobs may demand.
        after: the sort key of the last of these first jobs; empty if they were not read in the order of sort keys.
        only_covered: whether only jobs that the rest of the team's guarantee covers could start behind them.
    """

    bounds: QueueBounds
    after: str
    only_covered: bool

    def may_start(self, job: WaitingJob) -> bool:
        """Whether a job behind the first ones could start."""
        demand = self.bounds.demand(job)
        return self.bounds.covers(demand) if self.only_covered else self.bounds.fits(demand)
