"""Instances that SageMaker keeps warm after the end of an attempt."""

from __future__ import annotations

from pydantic import Field

from headway.job_terms import JobTerms
from headway.model import Allocation
from headway_service.ports.table import Delete, Equals, Key, Put
from headway_service.store.records.base import LEDGER, Record
from headway_service.store.records.capacity.attempt import AttemptRecord

NOBODY = ""
"""The attempt in a warm pool that none was started in."""


class WarmPoolRecord(Record):
    """Instances that are charged from the end of an attempt until SageMaker reports that they are no longer kept."""

    #: The attempt that left them; SageMaker reports their status with its training job.
    attempt_name: str
    job_name: str
    demand: dict[str, int]
    team: str = ""
    priority: int = 0
    #: What SageMaker matches requests by (:mod:`headway_service.sagemaker_api.warm_pools`).
    warm_key: str
    #: When the end of the attempt was recorded, ms, and for how long the instances are kept from then on, s.
    since_ms: int
    keep_s: int
    #: The attempt that was started in it, as far as known; see :data:`NOBODY`.
    claimed_by: str = NOBODY
    #: When it was decided that it is released, ms; None if it is kept.
    release_ms: int | None = None
    #: When SageMaker was last asked to release it, machine time, ms.
    sent_ms: int | None = None
    #: Since when SageMaker reports no status of it, machine time, ms; None if it has reported one.
    missing_since_ms: int | None = None
    freed_for: str | None = None
    freed: dict[str, int] = Field(default_factory=dict)
    version: int = 1

    @classmethod
    def left_by(cls, attempt: AttemptRecord, now_ms: int, *, release: bool) -> WarmPoolRecord:
        """What an attempt leaves that has ended.

        Args:
            now_ms: the training time, ms.
            release: whether it is released at once.
        """
        return cls(
            **attempt.attributes_for(cls),
            attempt_name=attempt.attempt_name,
            job_name=attempt.job_name,
            demand=attempt.demand,
            since_ms=now_ms,
            release_ms=now_ms if release else None,
            freed_for=attempt.freed_for,
            freed=attempt.freed,
        )

    @property
    def may_free(self) -> bool:
        """Whether it is soon known to be gone: it is being released, or an attempt was started in it."""
        return self.release_ms is not None or self.claimed_by != NOBODY

    @staticmethod
    def key(attempt: str) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"warm#{attempt}")

    def put(self, *, was: int | None = None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was``."""
        key = self.key(self.attempt_name)
        item = {"pk": key.pk, "sk": key.sk, **self.fields()}
        return Put(item=item, requires=None if was is None else Equals("version", was))

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.attempt_name), requires=Equals("version", self.version))

    def allocation(self) -> Allocation:
        """It as the scheduler sees it."""
        return Allocation(
            job=self.job_name,
            attempt=self.attempt_name,
            demand=self.demand,
            # It begins with the end of the attempt, and ends when its instances are kept no longer.
            terms=JobTerms(
                priority=self.priority, entry_time_ms=self.since_ms, team=self.team, limit_ms=self.keep_s * 1000
            ),
            since_ms=self.since_ms,
            warm=self.warm_key,
            stopping=self.may_free,
            claimed_by=self.claimed_by,
            freed_for=self.freed_for,
            freed=self.freed or None,
        )
