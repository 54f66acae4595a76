"""Changes jobs at the request of users: stop, hold, release, set the priority or the comment."""

from __future__ import annotations

from collections.abc import Callable

from headway import reasons
from headway.errors import InvalidTransition
from headway.lifecycle import ACTIVE, TERMINAL, WAITING, JobState
from headway_service.admission.queues.limits import QueueLimits
from headway_service.config.authorization import Action, Caller
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, FieldError, InvalidRequest, JobEnded, NotWaiting
from headway_service.jobs.editor import JobEditor, JobUpdate
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table, Write
from headway_service.store import transitions
from headway_service.store.records.capacity.attempt import StopCause
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import (
    find_live_attempt,
    find_reservation,
    find_team,
    get_job,
)

MAX_STOP_REASON_CHARS = 256
"""Length of the reason that a caller gives for a stop, which the reasons of the job repeat."""

MAX_COMMENT_CHARS = 256
"""Length of the comment of a job, which every listing shows."""


class JobCommands:
    """Changes jobs. Each command is idempotent.

    Args:
        wake: requests a tick.
        clocks: training time and machine time.
        configuration: the configuration in effect.
        retention_s: how long an ended job is kept, s.
    """

    def __init__(
        self,
        *,
        table: Table,
        wake: Wake,
        clocks: Clocks,
        configuration: Callable[[], Configuration],
        retention_s: int,
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._configuration = configuration
        self._retention_s = retention_s
        self._editor = JobEditor(table, wake, configuration, clocks.training_ms)
        self._explainer = PositionExplainer(table, clocks, lambda: configuration().policy())

    def stop(self, name: str, caller: Caller, why: str = "") -> tuple[JobView[JobRecord], bool]:
        """Stop a job: a waiting job leaves the queue, a running one is stopped.

        Args:
            name: of the job.
            why: the caller's reason, which the reasons of the job repeat; that of the first stop counts.

        Returns:
            The job, and whether it is still stopping.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not stop it.
            JobEnded: it has completed or failed. To stop a stopped job is no error.
            RetryLater: others keep changing it.
        """

        def change(job: JobRecord) -> JobUpdate | None:
            if job.job_state is JobState.STOPPED:
                return None
            if job.job_state in TERMINAL:
                raise JobEnded(f"`{name}` has {job.job_state} already: there is nothing to stop")
            try:
                return job, self._stop(job, caller, why)
            except InvalidTransition:
                raise Conflict.stale() from None

        job, changed = self._editor.edit(name, caller, Action.STOP, change, "stop requested")
        if changed:
            job = get_job(self._table, name)
        return self._seen(job), job.job_state not in TERMINAL

    def set_priority(self, name: str, priority: int, caller: Caller) -> JobView[JobRecord]:
        """Give a job that has not ended another priority.

        Args:
            name: of the job.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it.
            JobEnded: it has ended.
            InvalidRequest: the priority is above the configured maximum, or above that of the job's team.
            RetryLater: others keep changing it.
        """
        configuration = self._configuration()
        require_priority(priority, configuration.priority.maximum)

        def change(job: JobRecord) -> JobUpdate | None:
            _require_unended(job, "its priority does not matter any more")
            require_priority(priority, configuration.max_priority(job.team), job.team)
            if job.priority == priority:
                return None
            attempt = find_live_attempt(self._table, job)
            if attempt is None and job.job_state in ACTIVE and job.array is None:
                raise Conflict.stale()
            reason = reasons.priority_changed(job.priority, priority, caller.name)
            return transitions.change_priority(job, attempt, priority, reason, self._clocks.training_ms())

        return self._seen(self._editor.edit(name, caller, Action.REPRIORITISE, change, "priority changed")[0])

    def set_comment(self, name: str, text: str, caller: Caller) -> JobView[JobRecord]:
        """Give a job, in whichever state, a comment in place of the one that it has.

        Args:
            name: of the job.
            text: the comment; empty for none.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it.
            RetryLater: others keep changing it.
        """

        def change(job: JobRecord) -> JobUpdate | None:
            return None if job.comment == text else transitions.comment(job, text)

        return self._seen(self._editor.edit(name, caller, Action.COMMENT, change)[0])

    def hold(self, name: str, caller: Caller) -> JobView[JobRecord]:
        """Take a waiting job out of the queue until it is released. To hold a held job is no error.

        Args:
            name: of the job.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it.
            JobEnded: it has ended.
            NotWaiting: it holds instances.
            RetryLater: others keep changing it.
        """

        def change(job: JobRecord) -> JobUpdate | None:
            _require_unended(job, "there is nothing to hold")
            if job.array is not None:
                return self._hold_array(job, caller)
            if job.job_state in ACTIVE:
                raise NotWaiting(
                    f"`{name}` is {job.job_state}, and only a job that waits can be held: stop it, or wait until it "
                    "waits again"
                )
            if job.held:
                return None
            reservation = find_reservation(self._table, job.job_name)
            reason = reasons.held(job.job_name, caller.name)
            if job.member_of and not job.is_set_aside:
                # Others of its array may use its place in the queue.
                array = get_job(self._table, job.member_of)
                _, moved, writes = transitions.set_aside(
                    array, job, reservation, reason, self._clocks.training_ms(), held=True
                )
                return moved, writes
            return transitions.hold(job, reservation, reason, self._clocks.training_ms())

        # The wake-up is for the jobs behind it, which may now start.
        return self._seen(self._editor.edit(name, caller, Action.HOLD, change, "held")[0])

    def release(self, name: str, caller: Caller) -> JobView[JobRecord]:
        """Put a held job back into the queue. To release a job that is not held is no error.

        Args:
            name: of the job.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it.
            JobEnded: it has ended.
            QueueFull: see :meth:`headway_service.admission.queues.limits.QueueLimits.require`.
            RetryLater: others keep changing it.
        """
        checked: list[QueueLimits] = []

        def change(job: JobRecord) -> JobUpdate | None:
            _require_unended(job, "there is nothing to release")
            if not job.held:
                return None
            limits = QueueLimits(self._table, self._configuration().limits, job.owner, self._clocks.machine_ms)
            limits.require(job)
            if job.array is not None:
                return transitions.hold_array(
                    job, reasons.released(caller.name), self._clocks.training_ms(), held=False
                )
            checked.append(limits)
            team = find_team(self._table, job.team) if job.team else None
            reason, machine_ms = reasons.released(caller.name), self._clocks.machine_ms()
            return transitions.release(job, team, reason, self._clocks.training_ms(), machine_ms=machine_ms)

        released = self._editor.edit(name, caller, Action.RELEASE, change, "released")[0]
        for limits in checked[-1:]:
            limits.record(released)
            limits.store_counts()
        return self._seen(released)

    def _hold_array(self, array: JobRecord, caller: Caller) -> JobUpdate | None:
        if array.job_state is JobState.STOPPING:
            raise NotWaiting(f"`{array.job_name}` is stopping, with all its members: there is nothing to hold")
        if array.held:
            return None
        reason = reasons.held(array.job_name, caller.name)
        return transitions.hold_array(array, reason, self._clocks.training_ms(), held=True)

    def _stop(self, job: JobRecord, caller: Caller, why: str) -> list[Write]:
        """The writes that stop a job; none if it is already stopping for good."""
        now_ms = self._clocks.training_ms()
        if job.array is not None and job.job_state in ACTIVE:
            if job.job_state is JobState.STOPPING:
                return []
            return transitions.stop_array(job, reasons.array_stop_requested(caller.name, why), now_ms)
        if job.job_state in WAITING:
            reason = reasons.stopped_while_waiting(caller.name, why)
            reservation = find_reservation(self._table, job.job_name)
            expires_at = self._clocks.machine_ms() // 1000 + self._retention_s
            return transitions.stop_waiting(job, reservation, reason, now_ms, expires_at)
        attempt = find_live_attempt(self._table, job)
        if attempt is None:
            raise Conflict.stale()
        if attempt.stop_cause is StopCause.REQUEST:
            return []
        reason = reasons.stop_requested(caller.name, why)
        return transitions.stop_active(job, attempt, reason, now_ms, by=caller.name, given=why)

    def _seen(self, job: JobRecord) -> JobView[JobRecord]:
        return self._explainer.explain([job])[0]


def require_priority(priority: int, most: int, team: str = "") -> None:
    """Check a priority that a user sets.

    Args:
        most: the highest that is allowed.
        team: the team that this maximum applies to; empty for all.

    Raises:
        InvalidRequest: it is negative, or above the maximum.
    """
    if not 0 <= priority <= most:
        of_team = f" for the team {team}" if team else ""
        message = f"is {priority}; a priority is a whole number from 0 to {most}{of_team}, higher goes first"
        raise InvalidRequest(f"priority {message}", [FieldError(field="priority", message=message)])


def _require_unended(job: JobRecord, so: str) -> None:
    if job.job_state in TERMINAL:
        raise JobEnded(f"`{job.job_name}` has {job.job_state} already: {so}")
