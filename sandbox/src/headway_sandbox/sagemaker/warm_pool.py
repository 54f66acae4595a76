"""One warm pool: the instances that an ended training job has left, and its WarmPoolStatus.

Source: SageMaker guide, "Train Using SageMaker AI Managed Warm Pools". A pool's status follows from the time alone, so
there is no timer that a restart could lose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

AVAILABLE, IN_USE, REUSED, TERMINATED = "Available", "InUse", "Reused", "Terminated"
LONGEST_LIFE_S = 28 * 86_400.0
"""How long the same instances may serve training jobs and be kept in between (guide: 28 days)."""


@dataclass(kw_only=True)
class WarmPool:
    """The instances that a training job has left. All times are training time, in seconds since the epoch."""

    instances: dict[str, int]
    """Its instances per type."""
    cluster_since: float
    """When its instances were provisioned, for the first of the jobs that used them."""
    kept_from: float
    """When its job ended."""
    shown_from: float
    """When its status is shown first. Before, it exists already."""
    expires: float = 0.0
    """When its keep-alive period ends."""
    terminates: float = 0.0
    """When its instances are free, unless a job takes them before it expires."""
    taken_at: float | None = None
    """When a job was created that runs on its instances; None: no job was."""
    reused_by: str = ""
    """Name of that job."""
    moved: bool = False
    """Whether its instances are now those of that job."""

    def keep(self, period_s: float, *, since: float, release_s: float) -> None:
        """Set when it ends.

        Args:
            period_s: Its keep-alive period.
            since: When this period begins.
            release_s: From the end of the period until the instances are free.
        """
        self.expires = max(since, min(since + period_s, self.cluster_since + LONGEST_LIFE_S))
        self.terminates = self.expires + release_s

    def status(self, now: float) -> str:
        """Return its status."""
        if self.taken_at is not None:
            return REUSED if self.moved else IN_USE
        return TERMINATED if now >= self.terminates else AVAILABLE

    def is_free(self, now: float) -> bool:
        """Whether a job can take it: not once its keep-alive period is over, although it still has its instances."""
        return self.taken_at is None and now < self.expires

    def counts(self, now: float, *, lag_s: float = 0.0) -> bool:
        """Whether its instances count against the quota of training jobs. Those of a taken pool count for their job.

        Args:
            now: The time, s.
            lag_s: How long they count after their end.
        """
        return self.taken_at is None and now < self.terminates + lag_s

    def holds(self, now: float) -> bool:
        """Whether it has instances: those of a taken pool until they are its job's."""
        return self.status(now) in {AVAILABLE, IN_USE}

    def shown(self, now: float) -> dict[str, Any]:
        """Return its members in DescribeTrainingJob and ListTrainingJobs; none before it is shown.

        AWS does not document whether the time in which the instances are released is billed: here it is.
        """
        if now < self.shown_from:
            return {}
        until = min(now, self.terminates if self.taken_at is None else self.taken_at)
        status: dict[str, Any] = {
            "Status": self.status(now),
            "ResourceRetainedBillableTimeInSeconds": max(0, round(until - self.kept_from)),
        }
        if status["Status"] == REUSED:
            # Model: ReusedByJob. A sample in the guide has ReusedByName, which the model does not have.
            status["ReusedByJob"] = self.reused_by
        return {"WarmPoolStatus": status}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> WarmPool | None:
        """Load a pool from the JSON of its fields; None if a job has none."""
        return cls(**document) if document else None
