"""Jobs of a batch that enter the queue in one transaction: each is accepted or refused by itself all the same."""

from __future__ import annotations

from headway_service.admission.admitted import Admitted
from headway_service.errors import Conflict, RequestError, RetryLater
from headway_service.jobs.submit import PreparedJob, SubmissionContext, SubmittedJob, Submitter, location_of
from headway_service.ports.objects import Location
from headway_service.ports.table import MAX_TRANSACTION_WRITES

MAX_GROUP_BYTES = 3_000_000
"""Largest size of the requests in one transaction, which holds 4 MB in all (DynamoDB API reference,
TransactWriteItems)."""

_BESIDE_BYTES = 10_000
"""What the items of a job take beside its request, more than any does."""


class SubmissionGroup:
    """Prepared jobs that have not been written.

    Should the transaction fail, the jobs whose names are taken are answered by what is there, and the others are
    written again, without them; if the table has not answered, one by one.

    Args:
        submitter: writes them.
        context: what they have in common.
    """

    def __init__(self, submitter: Submitter, context: SubmissionContext) -> None:
        self._submitter = submitter
        self._context = context
        self._jobs: dict[str, tuple[int, PreparedJob]] = {}
        self._writes = self._bytes = 0
        self._locations: list[Location] = []

    def may_join(self, admitted: Admitted) -> bool:
        """Whether the job of a request can be written with the others."""
        return (
            admitted.name not in self._jobs
            # The job, its request, its location for checkpoints, and an entry for each pool.
            and self._writes + 3 + len(admitted.all_demands) <= MAX_TRANSACTION_WRITES
            # What is not written yet is not found.
            and not self._shares_checkpoints(admitted)
            and self._bytes + _size_of(admitted) <= MAX_GROUP_BYTES
        )

    def _shares_checkpoints(self, admitted: Admitted) -> bool:
        own = location_of(admitted)
        return own is not None and any(map(own.overlaps, self._locations))

    def add(self, place: int, prepared: PreparedJob) -> None:
        """Add a job that :meth:`may_join`; ``place`` is that of its request in the batch."""
        self._jobs[prepared.job.job_name] = (place, prepared)
        self._writes += len(prepared.writes)
        self._locations += [prepared.location] if prepared.location is not None else []
        self._bytes += _size_of(prepared.admitted)

    def write(self) -> dict[int, SubmittedJob | RequestError]:
        """Write the jobs; the group is empty afterwards.

        Returns:
            The result of each job, by the place of its request.
        """
        jobs, results = [*self._jobs.values()], dict[int, SubmittedJob | RequestError]()
        self._jobs.clear()
        self._locations.clear()
        self._writes = self._bytes = 0
        while jobs:
            try:
                submitted = self._submitter.write([prepared for _, prepared in jobs])
            except Conflict as conflict:
                taken = _jobs_of(conflict, jobs)
            except RetryLater:
                taken = {place for place, _ in jobs}
            else:
                return results | dict(zip((place for place, _ in jobs), submitted, strict=True))
            results |= {place: self._enter(prepared) for place, prepared in jobs if place in taken}
            jobs = [(place, prepared) for place, prepared in jobs if place not in taken]
        return results

    def _enter(self, prepared: PreparedJob) -> SubmittedJob | RequestError:
        """Submit a job by itself."""
        self._context.limits.forget(prepared.job)
        try:
            return self._submitter.enter(prepared.admitted, self._context)
        except RequestError as error:
            return error


def _size_of(admitted: Admitted) -> int:
    """The size of the items of a job at most, in bytes."""
    return len(admitted.request.encode()) + len(admitted.alternatives.encode()) + _BESIDE_BYTES


def _jobs_of(conflict: Conflict, jobs: list[tuple[int, PreparedJob]]) -> set[int]:
    """The places of the jobs that a transaction failed for."""
    found, first = set[int](), 0
    for place, prepared in jobs:
        after = first + len(prepared.writes)
        if any(first <= failed < after for failed in conflict.failed):
            found.add(place)
        first = after
    return found or {place for place, _ in jobs}
