"""What decisions read of a waiting job, from the job as from its queue entries."""

from __future__ import annotations

from headway.job_terms import JobTerms
from headway.model import Alternative, WaitingJob
from headway.refusals import FailedLaunches, retry_ms
from headway.scheduling.ordering import rank_key
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.terms import ListedTerms


class WaitingRecord(ListedTerms):
    """A waiting job: where it is in its queues, what it demands, and what keeps it back."""

    job_name: str
    demand: dict[str, int]
    not_before_ms: int = 0
    #: What keeps it until then.
    held_by: str = ""
    #: Its last launches that got no instances, on the alternative that it is on; None if the last one got some.
    failed: FailedLaunchesRecord | None = None
    #: All that it can run on, the first preference first; empty if its request has no alternatives.
    choices: tuple[AlternativeRecord, ...] = ()
    #: For how long after its entry it waits for a better alternative instead of starting on a worse one, s.
    wait_at_most_s: int = 0

    @property
    def chooses(self) -> bool:
        """Whether its next attempt may run on any of its alternatives."""
        return bool(self.choices)

    def rank(self) -> str:
        """Its place in a queue, as a sort key."""
        return rank_key(self.priority, self.entry_time + self.handicap_ms, self.job_name)

    def waiting_with(self, terms: JobTerms) -> WaitingJob:
        """The job as the scheduler sees it.

        Args:
            terms: those of the job.
        """
        failed = None if self.failed is None else self.failed.value()
        not_before_ms, held_by = self._held(failed)
        return WaitingJob(
            name=self.job_name,
            demand=self.demand,
            terms=terms,
            not_before_ms=not_before_ms,
            held_by=held_by,
            failed=failed,
            alternatives=self._alternatives(),
            wait_at_most_ms=self.wait_at_most_s * 1000 if self.chooses else 0,
        )

    def _alternatives(self) -> tuple[Alternative, ...]:
        """What it can run on beside its first preference."""
        if not self.chooses:
            return ()
        return tuple(self._alternative(each) for each in self.choices[1:])

    def _alternative(self, each: AlternativeRecord) -> Alternative:
        first_failed, failed = self.choices[0].failed, None if each.failed is None else each.failed.value()
        if first_failed is None and failed is None:
            return Alternative(demand=each.demand, limit_ms=each.limit_ms)
        not_before_ms, held_by = self._held(failed)
        return Alternative(
            demand=each.demand, limit_ms=each.limit_ms, not_before_ms=not_before_ms, held_by=held_by, failed=failed
        )

    def _held(self, failed: FailedLaunches | None) -> tuple[int, str]:
        """Before when it is not started, ms, and what keeps it until then."""
        if failed is None or retry_ms(failed) <= self.not_before_ms:
            return self.not_before_ms, self.held_by
        return retry_ms(failed), f"SageMaker did not launch it ({failed.answer or 'no clear answer'})"
