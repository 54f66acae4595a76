"""Limits how many jobs wait in a queue, per team and per owner."""

from __future__ import annotations

from headway_service.config.document import Limits
from headway_service.errors import QueueFull
from headway_service.ports.table import Table
from headway_service.store.queue_tail import QueueTail, read_queue_tail
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry, owner_hash


class QueueLimits:
    """The limits of queues for the jobs of one owner in one call.

    Each queue is read once, before the first job enters it, and later jobs of the call are added to that count. No
    counter is stored, as it could drift and all submissions would contend for it. So simultaneous calls may together
    exceed a limit by the number of their jobs.

    Args:
        table: the table.
        limits: the limits in force.
        owner: ARN of the owner; None checks the limits of teams only.

    Attributes:
        tails: the queues that were read, by partition.
    """

    def __init__(self, table: Table, limits: Limits, owner: str | None) -> None:
        self._table = table
        self._limits = limits
        self._mark = owner_hash(owner)
        self.tails: dict[str, QueueTail] = {}

    def require(self, job: JobRecord) -> None:
        """Check that a job may enter its queues.

        Raises:
            QueueFull: a queue is at its limit.
        """
        limits = self._limits
        whose = f" of the team {job.team}" if job.team else ""
        for pool in job.pools:
            # A job that waits for others enters the queue by itself later, so it has to fit in beside all that do. For
            # others these are not read: most queues have none, and a submission would take another query.
            kinds = (False, True) if job.awaited else (False,)
            tails = [self._tail(QueueEntry.partition(pool, job.team, waits_for_jobs=each)) for each in kinds]
            items, matching = sum(each.items for each in tails), sum(each.matching for each in tails)
            if items >= limits.waiting_per_team:
                raise _full(f"{items} jobs{whose}", pool, limits.waiting_per_team, "waitingPerTeam")
            if self._mark and matching >= limits.waiting_per_owner:
                raise _full(f"{matching} of your jobs{whose}", pool, limits.waiting_per_owner, "waitingPerOwner")

    def record(self, job: JobRecord) -> None:
        """Count a job that has entered its queues, or waits to enter them."""
        for key in job.queue_keys():
            self._tail(key.pk).join(key.sk)

    def _tail(self, partition: str) -> QueueTail:
        if partition not in self.tails:
            limit = self._limits.waiting_per_team
            self.tails[partition] = read_queue_tail(self._table, partition, self._mark, limit=limit)
        return self.tails[partition]


def _full(who: str, pool: str, limit: int, rule: str) -> QueueFull:
    return QueueFull(
        f"{who} wait for {pool}, and {limit} may (limits.{rule}): try again when some have started, stop some that are "
        "not needed, or have the limit raised"
    )
