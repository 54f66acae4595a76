"""Changes one job at the request of a caller: who may, again while others change it, and with a wake-up."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.config.authorization import Action, Caller
from headway_service.config.document import Configuration
from headway_service.errors import RetryLater
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table, Write
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import get_job, retry_on_conflict

JobUpdate = tuple[JobRecord, list[Write]]
"""A job as it is after a change, and the writes that make it."""


class JobEditor:
    """Changes one job.

    Args:
        table: the table.
        wake: requests a tick.
        configuration: the configuration in effect.
    """

    def __init__(self, table: Table, wake: Wake, configuration: Callable[[], Configuration]) -> None:
        self._table = table
        self._wake = wake
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
            caller: the caller.
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
