"""What people ask of the queue: submit, list, show, stop, hold, change the priority, see the capacity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway import reasons
from headway.errors import InvalidTransition
from headway.jobpolicy.utilization import Coverage
from headway.lifecycle import HOLDING, TERMINAL, WAITING, JobState
from headway.reasons import Reason, ReasonCode
from headway.vectors import total
from headway_service.admission.admit import admit
from headway_service.admission.coverage import coverage_of
from headway_service.admission.queue_limits import Room
from headway_service.config.authorization import Action, Caller
from headway_service.config.document import Configuration
from headway_service.errors import (
    Busy,
    Conflict,
    FieldError,
    InvalidRequest,
    JobEnded,
    NameInUse,
    NotWaiting,
    QueueFull,
)
from headway_service.jobs.new_job import new_job
from headway_service.jobs.position import MAX_PLACE, Explainer, Seen
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import InForce
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.sagemaker_api.redaction import Shown, shown
from headway_service.store import transitions
from headway_service.store.job_listing import Wanted, list_jobs
from headway_service.store.ledger import Ledger, look_at_ledger
from headway_service.store.records.attempt import AttemptRecord, StopCause
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord, request_in, request_key
from headway_service.store.records.ledger import PauseRecord, ReservationRecord, TeamRecord
from headway_service.store.records.queue_entry import LineEntry
from headway_service.store.records.unmanaged_job import RogueRecord
from headway_service.store.repository import MAX_TRIES, find_live_attempt, get_job

MAX_ROGUES = 100
"""Rogue jobs in one answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolUse:
    """How a pool is used, in instances; ``waiting`` in jobs."""

    pool: str
    size: int
    allocated: int
    #: Part of ``allocated``.
    stopping: int
    reserved: int
    #: Taken by training jobs that did not come through the queue.
    rogue: int
    free: int
    waiting: int
    #: Why nothing starts in it, if somebody has paused it, or everything.
    pause: PauseRecord | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What all submissions of one call are judged by."""

    in_force: InForce
    room: Room


@dataclass(frozen=True, kw_only=True, slots=True)
class Entered:
    """A job that a submission has put into the queue, or found there."""

    job: JobRecord
    #: Whether this very submission put it there.
    made: bool
    #: Whether it was made by this one, or by an earlier one with the same key.
    new: bool


class Desk:
    """Answers callers.

    Args:
        table: the table.
        wake: asks for a tick.
        clock: now, ms.
        in_force: the configuration in force.
        retention_s: how long an ended job is kept, s.
    """

    def __init__(
        self,
        *,
        table: Table,
        wake: Wake,
        clock: Callable[[], int],
        in_force: Callable[[], InForce],
        retention_s: int,
    ) -> None:
        self._table = table
        self._wake = wake
        self._clock = clock
        self._in_force = in_force
        self._retention_s = retention_s
        self._explainer = Explainer(table, clock, lambda: self._configuration().policy())

    def submit(self, request: Any, caller: Caller, key: str | None = None) -> tuple[Seen, bool]:
        """Accept a CreateTrainingJob request into the queue.

        Args:
            request: the request as decoded from JSON.
            caller: who asks, and will own the job.
            key: by which the caller knows the call again when it is repeated.

        Returns:
            The job, and whether this call made it, or an earlier one with the same key: the same request of the same
            caller under the same name is the same job.

        Raises:
            InvalidRequest, RequestTooLarge, NotAllowed, RuleViolation, ImpossibleDemand: see
                :func:`headway_service.admission.admit.admit`.
            QueueFull: see :meth:`headway_service.admission.queue_limits.Room.require`.
            NameInUse: another request of that name is in the queue, or somebody else's.
        """
        terms = self.terms(caller)
        entered = self.enter(request, caller, key, terms)
        return self.places([entered], terms)[0], entered.new

    def terms(self, caller: Caller) -> Terms:
        """What submissions of a caller are judged by from now on."""
        in_force = self._in_force()
        return Terms(in_force=in_force, room=Room(self._table, in_force.configuration.limits, caller.arn))

    def enter(self, request: Any, caller: Caller, key: str | None, terms: Terms) -> Entered:
        """Accept a request as :meth:`submit` does, and tell nothing of its place yet."""
        configuration = terms.in_force.configuration
        admitted = admit(request, configuration, caller)
        job = new_job(admitted, configuration.policy(), owner=caller.arn, key=key, now_ms=self._clock())
        try:
            terms.room.require(job)
        except QueueFull:
            # A call that is repeated is answered as ever, though its job may have been the last one to fit.
            if self._table.get(JobRecord.key(job.job_name)) is None:
                raise
        try:
            self._table.write(transitions.accept(job, admitted.request))
        except Conflict:
            known = self._job(admitted.name)
            # Whether a request equals somebody else's is not told: it would tell of hyperparameters that are withheld.
            if known.owner != caller.arn or known.request_digest != admitted.digest:
                raise NameInUse(
                    f"another request is in the queue as `{admitted.name}` ({known.job_state}): choose a new name",
                    [FieldError(field="TrainingJobName", message="is the name of another job in the queue")],
                ) from None
            # The first call may have died before it woke anybody.
            self._wake("submitted again")
            return Entered(job=known, made=False, new=key is not None and known.idempotency_key == key)
        terms.room.joined(job)
        logger.info("accepted", extra={"job": job.job_name, "priority": job.priority, "demand": job.demand})
        self._wake("submitted")
        return Entered(job=job, made=True, new=True)

    def places(self, entered: Sequence[Entered], terms: Terms) -> list[Seen]:
        """Jobs that were submitted, in the order given: those that were found in the queue are explained."""
        made = [each.job for each in entered if each.made]
        places = self._explainer.places(made, terms.in_force.lines, terms.room.lines)
        known = iter(self._explainer.explain([each.job for each in entered if not each.made]))
        return [
            Seen(job=each.job, place=places[each.job.job_name], reason=each.job.reason) if each.made else next(known)
            for each in entered
        ]

    def show(self, name: str, caller: Caller) -> tuple[Seen, AttemptRecord | None, Shown, tuple[Coverage, ...]]:
        """A job with its live attempt, its request as the caller may see it, and how that attempt is watched.

        Raises:
            JobNotFound: there is none of that name.
        """
        job = self._job(name)
        attempt = self._attempt(job)
        stored = self._table.get(request_key(name))
        request = request_in(stored) if stored else {}
        configuration = self._configuration()
        covered = coverage_of(attempt, request, configuration) if attempt else ()
        details = configuration.access_rules().may_see_details(caller, job.owner, job.team)
        return self._seen(job), attempt, shown(request, details=details), covered

    def jobs(self, wanted: Wanted, limit: int, token: str | None) -> tuple[Sequence[Seen], str | None]:
        """A page of the jobs that are wanted, explained; see :func:`headway_service.store.job_listing.list_jobs`."""
        jobs, following = list_jobs(self._table, wanted, limit, token)
        return self._explainer.explain(jobs), following

    def stop(self, name: str, caller: Caller) -> tuple[Seen, bool]:
        """Stop a job: a waiting one leaves the line, a running one is asked to stop.

        Returns:
            The job, and whether it is still stopping.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: it is not the caller's to stop.
            JobEnded: it has completed or failed. Stopping a stopped job is no error.
            Busy: others keep changing it.
        """
        for _ in range(MAX_TRIES):
            job = self._changeable(name, caller, Action.STOP)
            now_ms = self._clock()
            if job.job_state is JobState.STOPPED:
                return self._seen(job), False
            if job.job_state in TERMINAL:
                raise JobEnded(f"`{name}` has {job.job_state} already: there is nothing to stop")
            attempt = self._attempt(job)
            try:
                if job.job_state in WAITING:
                    self._stop_waiting(job, caller, now_ms)
                elif attempt is not None and attempt.stop_cause is not StopCause.REQUEST:
                    reason = Reason(
                        code=ReasonCode.STOP_REQUESTED,
                        message=f"asked to stop by {caller.name}; its instances are free when it has",
                    )
                    self._table.write(transitions.stop_holding(job, attempt, reason, now_ms))
                elif attempt is None:
                    continue
            except (Conflict, InvalidTransition):
                continue
            self._wake("stop requested")
            stopped = self._job(name)
            return self._seen(stopped), stopped.job_state not in TERMINAL
        raise Busy(f"`{name}` keeps changing; try again in a moment")

    def set_priority(self, name: str, priority: int, caller: Caller) -> Seen:
        """Give a job that has not ended another priority.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: it is not the caller's to change.
            JobEnded: it has ended.
            InvalidRequest: the priority is above the configured maximum, or above that of the job's team.
            Busy: others keep changing it.
        """
        configuration = self._configuration()
        require_priority(priority, configuration.priority.maximum)
        for _ in range(MAX_TRIES):
            job = self._unended(name, caller, Action.REPRIORITISE, "its priority does not matter any more")
            require_priority(priority, configuration.max_priority(job.team), job.team)
            if job.priority == priority:
                return self._seen(job)
            attempt = self._attempt(job)
            if attempt is None and job.job_state in HOLDING:
                continue
            reason = Reason(
                code=ReasonCode.PRIORITY_CHANGED,
                message=f"priority changed from {job.priority} to {priority} by {caller.name}",
            )
            try:
                changed, writes = transitions.change_priority(job, attempt, priority, reason, self._clock())
                self._table.write(writes)
            except Conflict:
                continue
            self._wake("priority changed")
            return self._seen(changed)
        raise Busy(f"`{name}` keeps changing; try again in a moment")

    def hold(self, name: str, caller: Caller) -> Seen:
        """Take a waiting job out of the line until it is released. Holding a held job is no error.

        Args:
            name: of the job.
            caller: who asks.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: it is not the caller's to change.
            JobEnded: it has ended.
            NotWaiting: it holds instances.
            Busy: others keep changing it.
        """
        for _ in range(MAX_TRIES):
            job = self._unended(name, caller, Action.HOLD, "there is nothing to hold")
            if job.job_state in HOLDING:
                raise NotWaiting(
                    f"`{name}` is {job.job_state}, and only a job that waits can be held: stop it, or wait until it "
                    "waits again"
                )
            if job.held:
                return self._seen(job)
            now_ms, reason = self._clock(), reasons.held(name, caller.name)
            try:
                held, writes = transitions.hold(job, self._reservation(name), reason, now_ms)
                self._table.write(writes)
            except Conflict:
                continue
            # Those behind it may go first now.
            self._wake("held")
            return self._seen(held)
        raise Busy(f"`{name}` keeps changing; try again in a moment")

    def release(self, name: str, caller: Caller) -> Seen:
        """Put a held job back into the line. Releasing a job that is not held is no error.

        Args:
            name: of the job.
            caller: who asks.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: it is not the caller's to change.
            JobEnded: it has ended.
            QueueFull: see :meth:`headway_service.admission.queue_limits.Room.require`.
            Busy: others keep changing it.
        """
        for _ in range(MAX_TRIES):
            job = self._unended(name, caller, Action.RELEASE, "there is nothing to release")
            if not job.held:
                return self._seen(job)
            Room(self._table, self._configuration().limits, job.owner).require(job)
            item = self._table.get(TeamRecord.key(job.team)) if job.team else None
            team = TeamRecord.parse(item) if item else None
            try:
                released, writes = transitions.release(job, team, reasons.released(caller.name), self._clock())
                self._table.write(writes)
            except Conflict:
                continue
            self._wake("released")
            return self._seen(released)
        raise Busy(f"`{name}` keeps changing; try again in a moment")

    def capacity(self) -> list[PoolUse]:
        """How each pool is used now, strongly consistent but for how many wait."""
        # Before the first tick or submission nobody has put the configured pools into the ledger yet.
        self._configuration()
        ledger = look_at_ledger(self._table)
        allocated = total(attempt.demand for attempt in ledger.attempts)
        stopping = total(attempt.demand for attempt in ledger.attempts if attempt.stop_cause)
        reserved = total(reservation.demand for reservation in ledger.reservations)
        rogue = total(rogue.charged for rogue in ledger.rogues)
        return [
            PoolUse(
                pool=pool.pool,
                size=pool.size,
                allocated=allocated.get(pool.pool, 0),
                stopping=stopping.get(pool.pool, 0),
                reserved=reserved.get(pool.pool, 0),
                rogue=rogue.get(pool.pool, 0),
                free=pool.size - sum(used.get(pool.pool, 0) for used in (allocated, reserved, rogue)),
                waiting=self._waiting(pool.pool, ledger),
                pause=ledger.pause_of(pool.pool),
            )
            for pool in ledger.pools
        ]

    def rogue_jobs(self) -> tuple[list[RogueRecord], bool]:
        """Training jobs that did not come through the queue, strongly consistent.

        Returns:
            The first :data:`MAX_ROGUES` by name, and whether there are more.
        """
        found = self._table.query(LEDGER, prefix=RogueRecord.key("").sk, limit=MAX_ROGUES + 1)
        return [RogueRecord.parse(item) for item in found[:MAX_ROGUES]], len(found) > MAX_ROGUES

    def _waiting(self, pool: str, ledger: Ledger) -> int:
        """How many jobs of all teams wait for a pool, counted to :data:`MAX_PLACE`."""
        found = 0
        for team in ledger.lines:
            if found < MAX_PLACE:
                line = LineEntry.partition(pool, team)
                found += self._table.count_before(line, "~", limit=MAX_PLACE - found)
        return found

    def _stop_waiting(self, job: JobRecord, caller: Caller, now_ms: int) -> None:
        reason = Reason(code=ReasonCode.STOPPED, message=f"stopped by {caller.name} while it waited")
        expires_at = now_ms // 1000 + self._retention_s
        reservation = self._reservation(job.job_name)
        self._table.write(transitions.stop_waiting(job, reservation, reason, now_ms, expires_at))

    def _seen(self, job: JobRecord) -> Seen:
        return self._explainer.explain([job])[0]

    def _job(self, name: str) -> JobRecord:
        return get_job(self._table, name)

    def _configuration(self) -> Configuration:
        return self._in_force().configuration

    def _changeable(self, name: str, caller: Caller, action: Action) -> JobRecord:
        job = self._job(name)
        self._configuration().access_rules().require_change(caller, action, name, job.owner, job.team)
        return job

    def _unended(self, name: str, caller: Caller, action: Action, so: str) -> JobRecord:
        job = self._changeable(name, caller, action)
        if job.job_state in TERMINAL:
            raise JobEnded(f"`{name}` has {job.job_state} already: {so}")
        return job

    def _reservation(self, job: str) -> ReservationRecord | None:
        item = self._table.get(ReservationRecord.key(job))
        return ReservationRecord.parse(item) if item else None

    def _attempt(self, job: JobRecord) -> AttemptRecord | None:
        return find_live_attempt(self._table, job)


def require_priority(priority: int, most: int, team: str = "") -> None:
    """Check a priority that somebody gives to a job.

    Raises:
        InvalidRequest: it is none, or above the highest that is allowed, of that team if one is named.
    """
    if not 0 <= priority <= most:
        of_team = f" for the team {team}" if team else ""
        message = f"is {priority}; a priority is a whole number from 0 to {most}{of_team}, higher goes first"
        raise InvalidRequest(f"priority {message}", [FieldError(field="priority", message=message)])
