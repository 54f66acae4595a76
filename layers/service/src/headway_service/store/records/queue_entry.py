"""The entries of a waiting job in the queues of its pools."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from headway.job_terms import JobTerms
from headway.model import Alternative, WaitingJob
from headway.refusals import FailedLaunches, retry_ms
from headway.scheduling.ordering import rank_key
from headway_service.ports.table import Key, Put
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.terms import QueuedTerms

if TYPE_CHECKING:
    from headway_service.store.records.listed_job import ListedJob


class QueueEntry(QueuedTerms):
    """A waiting job in its team's queue for one pool, with all that planning needs."""

    pool: str
    job_name: str
    demand: dict[str, int]
    not_before_ms: int = 0
    held_by: str = ""
    failed: FailedLaunchesRecord | None = None
    #: All that the job can run on, ``demand`` first; empty if that is all.
    choices: tuple[AlternativeRecord, ...] = ()
    wait_at_most_s: int = 0
    #: See :func:`owner_hash`; empty as well in entries of a time before it was kept.
    owned_by: str = ""
    #: Whether the job depends on jobs that have not ended. Then it is not in the queue, but counts against its limits.
    waits_for_jobs: bool = False

    @property
    def chooses(self) -> bool:
        """Whether the next attempt of the job may run on any of its alternatives."""
        return bool(self.choices)

    @staticmethod
    def partition(pool: str, team: str = "", *, waits_for_jobs: bool = False) -> str:
        """The partition that holds a team's queue for a pool.

        Args:
            pool: the instance type of the pool.
            team: the team; empty for jobs without one.
            waits_for_jobs: the partition of the jobs that enter this queue when others have ended; no decision reads
                it.
        """
        name = "after" if waits_for_jobs else "line"
        # Without a team it has the name from before there were teams, so that waiting jobs stay in it.
        return f"{name}#{pool}#{team}" if team else f"{name}#{pool}"

    def key(self) -> Key:
        """Where the entry is kept: in rank order."""
        return Key(
            self.partition(self.pool, self.team, waits_for_jobs=self.waits_for_jobs),
            rank_of(self),
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
        return waiting_of(self, self.waiting_terms(self.owned_by))


def owner_hash(owner: str | None) -> str:
    """The mark of an owner's queue entries; empty for none.

    An ARN may have 2048 characters, and entries are read by the thousand.
    """
    return hashlib.sha256(owner.encode()).hexdigest()[:16] if owner else ""


def rank_of(of: ListedJob | QueueEntry) -> str:
    """The place in a queue, as a sort key."""
    return rank_key(of.priority, of.entry_time + of.handicap_ms, of.job_name)


def waiting_of(of: ListedJob | QueueEntry, terms: JobTerms) -> WaitingJob:
    """The job as the scheduler sees it.

    Args:
        of: the job, or its entry.
        terms: those of the job.
    """
    failed = None if of.failed is None else of.failed.value()
    not_before_ms, held_by = _held(of, failed)
    return WaitingJob(
        name=of.job_name,
        demand=of.demand,
        terms=terms,
        not_before_ms=not_before_ms,
        held_by=held_by,
        failed=failed,
        alternatives=_alternatives(of),
        wait_at_most_ms=of.wait_at_most_s * 1000 if of.chooses else 0,
    )


def _alternatives(of: ListedJob | QueueEntry) -> tuple[Alternative, ...]:
    """What the job can run on beside its first preference."""
    if not of.chooses:
        return ()
    return tuple(_alternative(of, each) for each in of.choices[1:])


def _alternative(of: ListedJob | QueueEntry, each: AlternativeRecord) -> Alternative:
    first_failed, failed = of.choices[0].failed, None if each.failed is None else each.failed.value()
    if first_failed is None and failed is None:
        return Alternative(demand=each.demand, limit_ms=each.limit_ms)
    not_before_ms, held_by = _held(of, failed)
    return Alternative(
        demand=each.demand, limit_ms=each.limit_ms, not_before_ms=not_before_ms, held_by=held_by, failed=failed
    )


def _held(of: ListedJob | QueueEntry, failed: FailedLaunches | None) -> tuple[int, str]:
    """Before when the job is not started, ms, and what keeps it until then."""
    if failed is None or retry_ms(failed) <= of.not_before_ms:
        return of.not_before_ms, of.held_by
    return retry_ms(failed), f"SageMaker did not launch it ({failed.answer or 'no clear answer'})"
