"""Shows jobs, and training jobs that did not come through the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.jobpolicy.utilization import Coverage
from headway_service.admission.policy_view import utilization_coverage
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.ports.table import Table
from headway_service.sagemaker_api.redaction import Shown, shown
from headway_service.store.job_listing import JobFilter, list_jobs
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import StoredRequest
from headway_service.store.records.unmanaged_job import UnmanagedJobRecord
from headway_service.store.repository import find_live_attempt, find_stored_request, get_job

MAX_UNMANAGED_JOBS = 100
"""Training jobs that did not come through the queue, in one answer."""


class JobQueries:
    """Answers questions about jobs.

    Args:
        table: the table.
        clock: the training time, ms.
        machine_clock: the machine time, ms.
        configuration: the configuration in effect.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Callable[[], int],
        machine_clock: Callable[[], int],
        configuration: Callable[[], Configuration],
    ) -> None:
        self._table = table
        self._configuration = configuration
        self._explainer = PositionExplainer(table, clock, machine_clock, lambda: configuration().policy())

    def show(self, name: str, caller: Caller) -> tuple[JobView, AttemptRecord | None, Shown, tuple[Coverage, ...]]:
        """A job.

        Args:
            name: of the job.
            caller: the caller.

        Returns:
            The job, its live attempt, its request as the caller may see it, and how the use of that attempt is
            monitored.

        Raises:
            JobNotFound: there is none of that name.
        """
        job = get_job(self._table, name)
        attempt = find_live_attempt(self._table, job)
        stored = find_stored_request(self._table, name) or StoredRequest(first={})
        configuration = self._configuration()
        covered = utilization_coverage(attempt, stored.of(attempt.alternative), configuration) if attempt else ()
        details = configuration.access_rules().may_see_details(caller, job.owner, job.team)
        return (
            self._explainer.explain([job])[0],
            attempt,
            shown(stored.first, stored.alternatives, details=details),
            covered,
        )

    def jobs(self, wanted: JobFilter, limit: int, token: str | None) -> tuple[Sequence[JobView], str | None]:
        """A page of jobs, explained. Arguments and errors are those of :func:`store.job_listing.list_jobs`.

        Args:
            wanted: the filter.
            limit: the most jobs of a page.
            token: the token of the page; None for the first.
        """
        jobs, following = list_jobs(self._table, wanted, limit, token)
        return self._explainer.explain(jobs), following

    def unmanaged_jobs(self) -> tuple[list[UnmanagedJobRecord], bool]:
        """The training jobs that did not come through the queue, strongly consistent.

        Returns:
            The first :data:`MAX_UNMANAGED_JOBS` by name, and whether there are more.
        """
        found = self._table.query(LEDGER, prefix=UnmanagedJobRecord.key("").sk, limit=MAX_UNMANAGED_JOBS + 1)
        records = [UnmanagedJobRecord.parse(item) for item in found[:MAX_UNMANAGED_JOBS]]
        return records, len(found) > MAX_UNMANAGED_JOBS
