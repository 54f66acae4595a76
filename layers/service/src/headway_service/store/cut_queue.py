"""A queue of which a decision cannot read enough from its front."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model import WaitingJob
from headway.scheduling.reach.bounds import QueueBounds


@dataclass(frozen=True, kw_only=True, slots=True)
class CutQueue:
    """A queue whose first jobs, as many as a decision reads, do not tell which of its jobs start.

    Attributes:
        bounds: what its jobs may demand.
        after: the sort key of the last of these first jobs; empty if they were not read in the order of sort keys.
        only_covered: whether only jobs that the rest of the team's guarantee covers could start behind them.
    """

    bounds: QueueBounds
    after: str
    only_covered: bool

    def may_start(self, job: WaitingJob) -> bool:
        """Whether a job behind the first ones could start.

        One that is unlaunchable could as well, if a further launch is due: it would never be tried again otherwise.
        """
        fits = self.bounds.covers(job) if self.only_covered else self.bounds.fits(job)
        return fits or self.bounds.may_be_tried(job)
