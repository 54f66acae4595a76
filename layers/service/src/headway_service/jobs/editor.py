"""Changes one job at the request of a caller: who may, again while others change it, and with a wake-up."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.config.authorization import Action, Caller
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, JobEnded, RetryLater
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table, Write
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.store.records.member import is_made, new_member
from headway_service.store.repository import get_job, retry_on_conflict

JobUpdate = tuple[JobRecord, list[Write]]
"""A job as it is after a change, and the writes that make it."""


class JobEditor:
    """Changes one job.

    Args:
        wake: requests a tick.
        configuration: the configuration in effect.
        clock: the training time, ms.
    """

    def __init__(
        self, table: Table, wake: Wake, configuration: Callable[[], Configuration], clock: Callable[[], int]
    ) -> None:
        self._table = table
        self._wake = wake
        self._clock = clock
        self._configuration = configuration

    def edit(
        self,
        name: str,
        caller: Caller,
        action: Action,
        change: Callable[[JobRecord], JobUpdate | None],
        why: str = "",
    ) -> tuple[JobRecord, bool]:
        """Change a job as it is now, and wake the scheduler.

        Args:
            name: of the job.
            action: what the caller needs permission for.
            change: gives the change, or None if the job is already as wanted.
            why: the reason of the wake-up; empty for none, as no decision depends on the change.

        Returns:
            The job, and whether it was to be changed.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it.
            RetryLater: others keep changing it.
        """

        def once() -> tuple[JobRecord, bool]:
            job = get_job(self._table, name)
            self._configuration().access_rules().require_change(caller, action, name, job.owner, job.team)
            if not job.is_made:
                job = self._make(job)
            changed = change(job)
            if changed is None:
                return job, False
            after, writes = changed
            if writes:
                self._table.write(writes)
            return after, True

        job, changed = retry_on_conflict(once, otherwise=RetryLater(f"`{name}` keeps changing; try again in a moment"))
        if changed and why:
            self._wake(why)
        return job, changed

    def _make(self, described: JobRecord) -> JobRecord:
        """Make a member of an array before its turn, so that it can be changed.

        Raises:
            JobEnded: the array has ended before its turn.
            Conflict: the array has changed meanwhile.
        """
        array = get_job(self._table, described.member_of)
        if array.ending is not None:
            raise JobEnded(f"`{described.job_name}` never entered the queue: `{array.job_name}` has ended")
        index = described.index or 0
        if is_made(array, index):
            raise Conflict.stale()
        member = new_member(array, index, self._clock(), is_set_aside=True)
        self._table.write(transitions.make_early(array, member))
        return member
