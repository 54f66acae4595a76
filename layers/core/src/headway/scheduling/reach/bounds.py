"""Which jobs of a queue could start, as far as pools, limits and their last launches decide it.

Jobs that cannot must hide no others. Nor must those that are unlaunchable: nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.budgets.budget import Spent
from headway.model import Demand, WaitingJob
from headway.refusals import is_unlaunchable, retry_ms
from headway.scheduling.alternatives import in_pools
from headway.scheduling.limits import Limits, is_limit


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueBounds:
    """Which jobs of one queue may get instances.

    Attributes:
        pool: the pool of the queue.
        team: its team; empty for jobs without a team.
        most: the most that one job can get of each pool from now on, by its size; 0 of a paused one.
        limits: what limits its jobs beside that.
        unused: the part of the team's guarantee that it does not hold, per pool.
        now_ms: the time of the decision.
        spent: budgets of which nothing is left.
    """

    pool: str
    team: str
    now_ms: int
    most: Mapping[str, int]
    limits: Limits
    unused: Mapping[str, int]
    spent: tuple[Spent, ...] = ()

    def here(self, job: WaitingJob) -> WaitingJob:
        """A job of this queue on the alternative that it is there for."""
        return in_pools(job, (self.pool,)) if job.alternatives else job

    def fits(self, job: WaitingJob) -> bool:
        """Whether a job could start, and others wait for it."""
        here = self.here(job)
        if is_unlaunchable(here.failed, self.now_ms) or not self._is_possible(here):
            return False
        return not any(each.holds(here.terms.payer, here.demand) for each in self.spent)

    def covers(self, job: WaitingJob) -> bool:
        """Whether it could start, and the rest of the team's guarantee covers it."""
        return self.fits(job) and _is_within(self.here(job).demand, self.unused)

    def may_be_tried(self, job: WaitingJob) -> bool:
        """Whether a job is unlaunchable, and a further launch is due."""
        here = self.here(job)
        if here.failed is None or not is_unlaunchable(here.failed, self.now_ms):
            return False
        return retry_ms(here.failed) <= self.now_ms and self._is_possible(here)

    def of_limits(self, job: WaitingJob) -> Demand:
        """What a job takes of its limits, on the alternative that it is there for."""
        here = self.here(job)
        if not self.limits:
            return {}
        return {key: count for key, count in self.limits.charged(here.demand, here.terms).items() if is_limit(key)}

    def _is_possible(self, here: WaitingJob) -> bool:
        """Whether its pools, and its limits, ever suffice for a job."""
        of_limits = self.of_limits(here)
        return _is_within(here.demand, self.most) and all(
            count <= self.limits.largest(key) for key, count in of_limits.items()
        )


def _is_within(demand: Demand, limits: Mapping[str, int]) -> bool:
    return all(count <= limits.get(pool, 0) for pool, count in demand.items())
