"""The entries of a waiting job in the queues of its pools."""

from __future__ import annotations

from headway.model import WaitingJob
from headway.scheduling.ordering import rank_key
from headway_service.ports.table import Key, Put
from headway_service.store.records.terms import QueuedTerms
from headway_service.store.records.waiting import WaitingRecord


class QueueEntry(WaitingRecord, QueuedTerms):
    """A waiting job in its team's queue for one pool, with all that planning needs."""

    pool: str
    #: See :func:`headway.job_terms.owner_hash`; empty as well in entries of a time before it was kept.
    owned_by: str = ""
    #: Whether other jobs, its array or a time keep it back. Then it is not in the queue, but counts against its limits.
    waits_for_jobs: bool = False

    @staticmethod
    def partition(pool: str, team: str = "", *, waits_for_jobs: bool = False) -> str:
        """The partition that holds a team's queue for a pool.

        Args:
            pool: the instance type of the pool.
            team: the team; empty for jobs without one.
            waits_for_jobs: the partition of the jobs that are kept back from this queue; no decision reads it.
        """
        name = "after" if waits_for_jobs else "line"
        # Without a team it has the name from before there were teams, so that waiting jobs stay in it.
        return f"{name}#{pool}#{team}" if team else f"{name}#{pool}"

    def key(self) -> Key:
        """Where the entry is kept: in rank order."""
        return Key(
            self.partition(self.pool, self.team, waits_for_jobs=self.waits_for_jobs),
            self.rank(),
        )

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    @classmethod
    def key_of(cls, job: WaitingJob) -> Key:
        """Where the entry of a waiting job is kept; of its entries the one in the first of its pools."""
        rank = rank_key(job.terms.priority, job.terms.turn_ms, job.name)
        return Key(cls.partition(min(job.demand), job.terms.team), rank)

    def waiting(self) -> WaitingJob:
        """The job as the scheduler sees it."""
        return self.waiting_with(self.waiting_terms(self.owned_by))
