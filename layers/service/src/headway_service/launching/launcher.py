"""Executes intents: launches and stops attempts as they were decided.

Decisions only write intents; the launcher reads them and calls SageMaker. A crash in between leaves an intent that the
next tick finds, so recovery needs no path of its own. A lease controls which invocation may reconcile a launch: the one
that wrote the intent holds the lease for as long as it can run, and no other acts on the launch before. So a canceled
launch can never be executed late (promise 6).

The calls of several launches may wait for SageMaker in parallel (:meth:`Launcher.create`). What follows from their
answers is done one after the other: a call changes nothing here, and after a missing answer no further call begins.

An answer of SageMaker counts only for what it proves. If the only CreateTrainingJob of an attempt is refused, the
attempt was not launched. If an earlier answer is missing, neither a later refusal nor a training job that is not found
proves anything until SageMaker has had time to show it (:mod:`headway_service.sagemaker_api.visibility`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headway import reasons
from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.model import Demand
from headway.reasons import Reason, ReasonCode
from headway.refusals import Cause, FailedLaunches, NoInstances, add, add_of_outage
from headway.vectors import describe
from headway_service.errors import (
    Conflict,
    LaunchError,
    LaunchPostponed,
    LaunchRefused,
    NameTaken,
    NothingToStop,
    OutcomeUnknown,
    Throttled,
    UnreadableRecord,
)
from headway_service.launching.backoff import MAX_BACK_OFF_S, PoolBackoff
from headway_service.launching.launches import Launch
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs, TrainingJobStatus
from headway_service.sagemaker_api.launch_request import on_demand, with_pending_limit, without_warm_pool
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import LEASE_MARGIN_MS, NOBODY, AttemptRecord, StopCause
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import (
    find_attempt,
    find_job,
    find_request_of,
    find_unmanaged_job,
    retry_on_conflict,
)
from headway_service.tracking.observer import Observer, StatusOutcome
from headway_service.tracking.warm_pools import WarmPoolTracker

CLOCKS_MS = 5_000
"""A training job may seem to be created this much before it was requested, as SageMaker has a clock of its own."""

ONE_AT_A_TIME_S = MAX_BACK_OFF_S
"""After one of several launches was throttled, there is one at a time for so long, s."""

ASK_AGAIN_S = 10
"""Time after which SageMaker is asked again about a launch that it may show later."""

MAX_UNANSWERED = 2
"""After so many calls without a clear answer a launch is only asked about. If SageMaker does not show it, its job waits
again, as after any launch without instances."""

_PREEMPTED = (JobTrigger.PREEMPTED_ENDED, ReasonCode.RETURNED_TO_LINE)

_CANCELED: Mapping[StopCause | None, tuple[JobTrigger, ReasonCode]] = {
    StopCause.REQUEST: (JobTrigger.END_STOPPED, ReasonCode.STOPPED),
    # Its pool became smaller, or is drained: no other job has preempted it.
    StopCause.REQUEUE: (JobTrigger.RETRY, ReasonCode.REQUEUED),
}
"""What the end of a launch that is canceled means for its job, by the cause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What SageMaker has under the name of an attempt."""

    #: The attempt itself; None if it is not shown.
    own: TrainingJobStatus | None = None
    #: Whether another training job has the name, and whether that has a mark of the queue: one without a mark may be
    #: the attempt itself, of which SageMaker does not show the tags yet.
    is_taken: bool = False
    is_marked: bool = False


_NOTHING = _Found()


class Launcher:
    """Reconciles launching attempts, and stops attempts.

    Args:
        table: the table.
        training_jobs: SageMaker.
        observer: applies SageMaker's status of an attempt.
        holder: names this invocation, and no other.
        machine_clock: the machine time, ms.
        deadline_ms: when this invocation dies, machine time, ms; bounds the leases it takes.
        jitter: a random number from 0 to 1, for back-offs.
        launches_at_once: how many launches may be in flight.
        throttled_ms: when one of several launches was last throttled, as far as this process knows, machine time, ms; 0
            for never.
    """

    def __init__(
        self,
        table: Table,
        training_jobs: TrainingJobs,
        observer: Observer,
        *,
        holder: str,
        machine_clock: Callable[[], int],
        deadline_ms: int,
        jitter: Callable[[], float],
        launches_at_once: int,
        throttled_ms: int = 0,
    ) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._observer = observer
        self.holder = holder
        self._machine_clock = machine_clock
        self.lease_until_ms = deadline_ms + LEASE_MARGIN_MS
        self.backoff = PoolBackoff(table, jitter)
        self.warm_pools = WarmPoolTracker(table, training_jobs, machine_clock, releases=True)
        self._launches_at_once = launches_at_once
        #: When one of several launches was last throttled, machine time, ms; 0 for never.
        self.throttled_ms = throttled_ms
        self._paused: frozenset[str] = frozenset()
        self._sizes: dict[str, int] = {}
        #: Whether SageMaker has not answered a question of this invocation: it asks no other one about a launch.
        self._is_silent = False
        #: Attempts that SageMaker has accepted here, should that not have been written down: created when at the
        #: earliest, ms.
        self._created: dict[str, int] = {}

    def update(self, ledger: Ledger) -> None:
        """Apply the ledger's back-offs and pauses."""
        self.backoff.update(ledger.pools)
        self._sizes = {pool.pool: pool.size for pool in ledger.pools}
        self._paused = frozenset(pool.pool for pool in ledger.pools if ledger.pause_of(pool.pool) is not None)

    def is_backing_off(self, demand: Demand) -> bool:
        """Whether any of the pools of a demand backs off."""
        return self.backoff.is_backing_off(demand, self._machine_clock())

    @property
    def launches_at_once(self) -> int:
        """How many launches may be in flight now.

        SageMaker throttles the calls of an account, whatever their pools. So after a back-off of any pool there is one
        at a time, until a further failure would not double that back-off. The same holds for :data:`ONE_AT_A_TIME_S`
        after one of several launches was throttled.
        """
        machine_ms = self._machine_clock()
        if machine_ms < self.throttled_ms + ONE_AT_A_TIME_S * 1000 or self.backoff.is_recent(machine_ms):
            return 1
        return self._launches_at_once

    def pending(self, attempt: AttemptRecord) -> bool:
        """Whether there is anything to do for an attempt that this invocation may do."""
        if attempt.attempt_state is AttemptState.LAUNCHING:
            if self._is_to_launch(attempt) and not self._may_try(attempt):
                return False
            return attempt.lease_holder == self.holder or attempt.lease_until_ms < self._machine_clock()
        return attempt.attempt_state is AttemptState.STOPPING and attempt.stop_sent_ms is None

    def take(self, attempt: AttemptRecord) -> AttemptRecord:
        """Take the lease of an attempt, if it needs one that this invocation does not hold.

        Raises:
            Conflict: it was changed meanwhile.
        """
        if attempt.attempt_state is not AttemptState.LAUNCHING or attempt.lease_holder == self.holder:
            return attempt
        attempt, writes = transitions.take_lease(attempt, self.holder, self.lease_until_ms)
        self._table.write(writes)
        return attempt

    def has_accepted(self, attempt: AttemptRecord) -> bool:
        """Whether SageMaker has accepted an attempt in this invocation."""
        return attempt.attempt_name in self._created

    def needs_call(self, attempt: AttemptRecord) -> bool:
        """Whether CreateTrainingJob has to be called to reconcile an attempt."""
        if attempt.attempt_state is not AttemptState.LAUNCHING or attempt.attempt_name in self._created:
            return False
        return self._is_to_launch(attempt) and not self._is_asked(attempt)

    def _may_try(self, attempt: AttemptRecord) -> bool:
        """Whether a launch may be called, or asked about, now."""
        return not self._is_silent if self._is_asked(attempt) else not self.is_backing_off(attempt.demand)

    def _is_asked(self, attempt: AttemptRecord) -> bool:
        """Whether SageMaker is asked about a launch without a clear answer: a call more would not tell more.

        While its pools back off, an answer to the question ends that.
        """
        unanswered = attempt.unanswered + (attempt.lease_holder not in {NOBODY, self.holder})
        return bool(unanswered) and (unanswered >= MAX_UNANSWERED or self.is_backing_off(attempt.demand))

    def create(self, attempt: AttemptRecord) -> None:
        """Call CreateTrainingJob for an attempt whose lease this invocation holds. Others may be called in parallel.

        Raises:
            LaunchError: it was not accepted. SageMaker is not called for one whose request cannot be read: the job
                waits as if it had been refused, and its pool does not back off.
            OutcomeUnknown: SageMaker gave no clear answer.
        """
        self._training_jobs.create(self._request(attempt))

    def reconcile_intent(self, attempt: AttemptRecord, now_ms: int, *, launch: Launch | None = None) -> bool:
        """Launch or stop an attempt.

        Args:
            attempt: the attempt.
            now_ms: the training time, ms.
            launch: the call of :meth:`create`, if there was one; None calls it if the attempt needs that.

        Returns:
            Whether it went as it was decided: SageMaker launches it, or stops it. Otherwise instances may have come
            free, or a job may have been requeued, which requires another decision.

        Raises:
            Conflict: it was changed meanwhile; nothing was decided.
            OutcomeUnknown: SageMaker gave no clear answer; the intent stays.
        """
        attempt = self.take(attempt)
        if attempt.attempt_state is not AttemptState.LAUNCHING:
            return self._stop(attempt, now_ms)
        if attempt.stop_cause is not None:
            self._cancel(attempt, now_ms)
        elif self._is_paused(attempt):
            self._cancel_for_pause(attempt, now_ms)
        elif attempt.attempt_name in self._created:
            return self._confirm(attempt, now_ms)
        elif launch is None and self._is_asked(attempt):
            self._ask(attempt, now_ms)
        else:
            called = launch or Launch(attempt=attempt, answer=partial(self.create, attempt), asked_ms=now_ms)
            return self._launch(attempt, called, now_ms)
        return False

    def _is_to_launch(self, attempt: AttemptRecord) -> bool:
        """Whether a launching attempt is to be launched, not canceled."""
        return attempt.stop_cause is None and not self._is_paused(attempt)

    def _is_paused(self, attempt: AttemptRecord) -> bool:
        return not self._paused.isdisjoint(attempt.demand)

    def _launch(self, attempt: AttemptRecord, launch: Launch, now_ms: int) -> bool:
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name}
        try:
            launch.answer()
        except (NameTaken, LaunchPostponed, LaunchRefused) as error:
            found = self._look_up(attempt, error, now_ms)
            if found.own is not None and attempt.unanswered_ms is None:
                self._adopt_found(attempt, found.own, now_ms)
            elif found.own is not None:
                self._adopt(attempt, found.own, now_ms)
            elif found.is_taken:
                self._pass_name(attempt, now_ms)
            else:
                self._not_launched(attempt, error, now_ms)
            return False
        except Throttled as error:
            # No call is in progress: the next invocation may retry without waiting for the lease to expire.
            self._table.write(transitions.return_lease(attempt, self._machine_clock() - 1))
            if not launch.alone:
                # Perhaps only these were too many at once: it is tried again by itself before its pool backs off.
                logger.warning("one of several launches is throttled; they go on one at a time", extra=log)
                self.throttled_ms = self._machine_clock()
                return False
            self._back_off(attempt, error)
            raise
        except OutcomeUnknown as error:
            # Whether it was launched is unknown, so the intent and its lease stay.
            logger.warning("launch unclear; the intent stays", extra=log)
            self.backoff.unanswered(attempt.demand, attempt.job_name, _cause(attempt, error), self._machine_clock())
            raise
        logger.info("launched", extra=log)
        self._created[attempt.attempt_name] = launch.asked_ms - CLOCKS_MS
        confirmed = self._confirm(attempt, now_ms)
        # After a row, jobs that SageMaker did not answer about may start, too.
        return not self.backoff.accepted(attempt.demand, self._machine_clock()) and confirmed

    def _not_launched(self, attempt: AttemptRecord, error: LaunchError, now_ms: int) -> None:
        """SageMaker did not accept the attempt, and does not run it."""
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name}
        match error:
            case LaunchPostponed():
                logger.warning("launch postponed", extra={**log, "error": error.code})
                self._return(attempt, self._refusal(attempt, error, now_ms))
            case _:
                logger.warning("launch refused", extra={**log, "error": error.code})
                self._observer.end(attempt, JobTrigger.FAIL, reasons.launch_refused(error), None, now_ms)

    def _refusal(self, attempt: AttemptRecord, error: LaunchPostponed, now_ms: int) -> NoInstances:
        """The end of a launch that SageMaker has refused for now."""
        return NoInstances(
            cause=error.cause,
            launched_ms=attempt.since_ms,
            known_ms=now_ms,
            code=error.code,
            text=error.text,
            by_request=error.by_request,
            pools_size=self._pools_size(attempt),
        )

    def metrics_of(self, attempt: str) -> Mapping[str, str]:
        """The final metrics of an attempt that has ended; none if SageMaker gives none now.

        Args:
            attempt: the name of the attempt.
        """
        try:
            sighting = self._training_jobs.describe(attempt)
        except OutcomeUnknown as error:
            logger.warning("metrics are not known", extra={"attempt": attempt, "error": str(error)})
            return {}
        return sighting.metrics or {} if sighting is not None else {}

    def _adopt_found(self, attempt: AttemptRecord, found: TrainingJobStatus, now_ms: int) -> None:
        """SageMaker has the attempt, but no call of which the queue knows has launched it: its table was restored.

        One that has completed completes its job. One that was stopped or has failed proves nothing about the job: the
        queue may have preempted it, or tried the job again, and has forgotten that. The next attempt uses the next
        name, which may be that of an attempt that still runs.

        Raises:
            OutcomeUnknown: it is stopping; it is checked again later.
        """
        if found.status == "Stopping":
            self._ask_again(attempt)
            raise OutcomeUnknown(f"`{attempt.attempt_name}` was launched before, and is stopping")
        if found.ended and found.status != "Completed":
            self._pass_name(attempt, now_ms)
            return
        self._adopt(attempt, found, now_ms)

    def _pass_name(self, attempt: AttemptRecord, now_ms: int) -> None:
        """The name of an attempt is in use for good."""
        logger.warning("name taken", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        self._postpone(attempt, reasons.name_taken(attempt.attempt_name), now_ms, name_is_free=False)

    def _adopt(self, attempt: AttemptRecord, found: TrainingJobStatus, now_ms: int) -> None:
        """SageMaker has the attempt from an earlier call.

        After a restore its training job may be charged as an unmanaged one: the attempt then holds what that holds, as
        the request of its job may have been changed since the restored state, and before the launch.
        """
        logger.info("launched by an earlier call", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        rogue = find_unmanaged_job(self._table, attempt.attempt_name)
        if rogue is not None and rogue.charged and rogue.created_ms == found.created_ms:
            attempt, writes = transitions.take_charge(attempt, rogue)
            self._table.write(writes)
        self._confirm(attempt, now_ms)
        self.backoff.accepted(attempt.demand, self._machine_clock())

    def _ask_again(self, attempt: AttemptRecord, refused: FailedLaunches | None = None) -> None:
        not_before_ms = self._machine_clock() + ASK_AGAIN_S * 1000
        self._table.write(transitions.return_lease(attempt, not_before_ms, refused=refused))

    def _ask(self, attempt: AttemptRecord, now_ms: int) -> None:
        """Ask about a launch without a clear answer. If SageMaker does not have it, its job waits again.

        Raises:
            OutcomeUnknown: SageMaker does not answer, or may show it later.
        """
        found = self._find(attempt)
        if found.own is not None:
            self._adopt(attempt, found.own, now_ms)
        elif found.is_taken:
            self._pass_name(attempt, now_ms)
        elif attempt.unanswered < MAX_UNANSWERED:
            # Its pools have backed off meanwhile: it was not its fault.
            self._table.write(transitions.return_lease(attempt, self._machine_clock() - 1))
        else:
            logger.warning(
                "launch not shown; its job waits again",
                extra={"job": attempt.job_name, "attempt": attempt.attempt_name},
            )
            if attempt.refused is not None:
                # The one clear answer was about its request.
                refusal = attempt.refused.value().last_launch
                self._return(attempt, replace(refusal, known_ms=now_ms))
                return
            # If SageMaker has accepted no other launch between its own, it may be an outage, and not about its request.
            last_ms = attempt.seen_ms if attempt.unanswered_ms is None else attempt.unanswered_ms
            is_own = self.backoff.has_accepted(attempt.demand, attempt.seen_ms, last_ms)
            launch = NoInstances(
                cause=Cause.UNANSWERED,
                launched_ms=attempt.since_ms if is_own else now_ms,
                known_ms=now_ms,
                idled_ms=now_ms - attempt.since_ms if is_own else 0,
                pools_size=self._pools_size(attempt),
            )
            self._return(attempt, launch, in_a_row=is_own)

    def _back_off(self, attempt: AttemptRecord, error: OutcomeUnknown) -> None:
        self.backoff.begin(attempt.demand, _cause(attempt, error), self._machine_clock())

    def _confirm(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Record that SageMaker has the attempt, and stop it if a stop was requested meanwhile.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            now_ms: now.

        Returns:
            Whether it went as it was decided.
        """
        # An attempt that was not accepted here may have ended, so it is described.
        created_from_ms = self._created.get(attempt.attempt_name, 0)
        created = created_from_ms > 0
        confirmed, writes = transitions.confirm(
            attempt, self._machine_clock(), created=created, created_from_ms=created_from_ms
        )
        try:
            self._table.write(writes)
        except Conflict:
            confirmed, created = self._confirm_changed(attempt), False
        if confirmed.attempt_state is AttemptState.STOPPING:
            return self._stop(confirmed, now_ms)
        return created or not self._refresh(confirmed, now_ms)

    def _confirm_changed(self, attempt: AttemptRecord) -> AttemptRecord:
        """Confirm an attempt that was changed since it was read: its job was stopped, or its end observed.

        SageMaker's acceptance is stored nevertheless, as only this invocation knows it.
        """

        def confirm() -> AttemptRecord | None:
            found = find_attempt(self._table, attempt.attempt_name)
            # If it is not launching, the answer to the write was lost, and its retry met its own effect.
            if found is None or found.attempt_state is not AttemptState.LAUNCHING:
                return found
            created_from_ms = self._created.get(attempt.attempt_name, 0)
            confirmed, writes = transitions.confirm(found, self._machine_clock(), created_from_ms=created_from_ms)
            self._table.write(writes)
            return confirmed

        confirmed = retry_on_conflict(confirm, otherwise=Conflict([0]))
        if confirmed is None:
            raise Conflict([0])
        return confirmed

    def _cancel(self, attempt: AttemptRecord, now_ms: int) -> None:
        """A launch that has to stop: perhaps an earlier invocation called CreateTrainingJob before it died."""
        found = self._find_own(attempt)
        if found is not None:
            self._adopt(attempt, found, now_ms)
            return
        trigger, code = _CANCELED.get(attempt.stop_cause, _PREEMPTED)
        reason = reasons.stopped_before_launch(code, why=attempt.stop_reason)
        self._observer.end(attempt, trigger, reason, None, now_ms)

    def _cancel_for_pause(self, attempt: AttemptRecord, now_ms: int) -> None:
        """A launch that an earlier invocation left behind, in a pool that was paused since.

        If that invocation called CreateTrainingJob before it died, the attempt runs; otherwise it is never called.
        """
        found = self._find_own(attempt)
        if found is not None:
            self._adopt(attempt, found, now_ms)
            return
        self._postpone(attempt, reasons.paused_before_launch(), now_ms)

    def _stop(self, attempt: AttemptRecord, now_ms: int) -> bool:
        try:
            self._training_jobs.stop(attempt.attempt_name)
        except NothingToStop as error:
            # Ended, already stopping, or not shown yet: the description decides.
            if self._refresh(attempt, now_ms):
                return False
            found = find_attempt(self._table, attempt.attempt_name)
            if found is None:
                return False
            attempt = found
            if attempt.training_job_status != "Stopping":
                raise OutcomeUnknown(f"StopTrainingJob of `{attempt.attempt_name}` was refused: {error}") from error
        logger.info("asked to stop", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        self._table.write(transitions.stop_sent(attempt, now_ms))
        return True

    def _look_up(self, attempt: AttemptRecord, error: LaunchError, now_ms: int) -> _Found:
        """What SageMaker has under the name of an attempt whose launch it has refused.

        A restored table does not know each earlier launch, and a name in use may be answered with any refusal. So
        SageMaker is asked about a refusal that is permanent, as that ends the job, and about each further one of a row,
        as the job would else be tried under a name for ever that it never gets.

        Raises:
            OutcomeUnknown: SageMaker may show it later; it is checked again.
        """
        if isinstance(error, NameTaken) or attempt.unanswered_ms is not None:
            refusal = self._refusal(attempt, error, now_ms) if isinstance(error, LaunchPostponed) else None
            return self._find(attempt, in_use=isinstance(error, NameTaken), refusal=refusal)
        if isinstance(error, LaunchRefused):
            return self._find(attempt)
        if not attempt.failed_before:
            return _NOTHING
        try:
            return self._ask_for_name(attempt)
        except OutcomeUnknown as unclear:
            # The launch was refused either way. The next refused one asks again.
            told = {"job": attempt.job_name, "attempt": attempt.attempt_name, "error": str(unclear)}
            logger.warning("whether the name is in use is not known", extra=told)
            return _NOTHING

    def _find_own(self, attempt: AttemptRecord) -> TrainingJobStatus | None:
        """The attempt as SageMaker has it, if a known call may have launched it; None if it has none.

        Raises:
            OutcomeUnknown: SageMaker may show it later; it is checked again.
        """
        return None if attempt.unanswered_ms is None else self._find(attempt).own

    def _find(self, attempt: AttemptRecord, *, in_use: bool = False, refusal: NoInstances | None = None) -> _Found:
        """What SageMaker has under the name of an attempt that no call of this invocation has launched.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            in_use: whether SageMaker reports that its name is in use.
            refusal: what the last call was refused with, which is kept until it proves something.

        Raises:
            OutcomeUnknown: SageMaker may show it later; it is checked again.
        """
        refused = None if refusal is None else add(None, refusal)
        try:
            found = self._ask_for_name(attempt)
        except OutcomeUnknown as error:
            # The call before it is the one whose answer is missing; this question can be repeated.
            self._is_silent = True
            self._ask_again(attempt, refused)
            self._back_off(attempt, error)
            raise
        self.backoff.answered(attempt.demand, self._machine_clock())
        if found.own is not None or found.is_marked:
            return found
        proven = attempt.unanswered_ms is None or is_proven(attempt.unanswered_ms, self._machine_clock())
        if proven and (found.is_taken or not in_use):
            return found
        self._ask_again(attempt, refused)
        shown = "shown without its tags" if found.is_taken else "not found"
        raise OutcomeUnknown(f"`{attempt.attempt_name}` is {shown}; SageMaker may have launched it")

    def _ask_for_name(self, attempt: AttemptRecord) -> _Found:
        """What SageMaker shows under the name of an attempt now.

        Raises:
            OutcomeUnknown: SageMaker gave no clear answer.
        """
        sighting = self._training_jobs.describe(attempt.attempt_name)
        if sighting is None:
            return _NOTHING
        mark = self._training_jobs.mark_of(sighting.arn)
        if mark == attempt.mark:
            return _Found(own=sighting)
        return _Found(is_taken=True, is_marked=mark is not None)

    def _refresh(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Apply SageMaker's status of an attempt that is known to be the queue's. Returns whether it has ended."""
        outcome = self._observer.refresh(attempt.attempt_name, self._training_jobs, now_ms)
        return outcome is StatusOutcome.TICK_DUE

    def _return(self, attempt: AttemptRecord, launch: NoInstances, *, in_a_row: bool = True) -> None:
        """A launch got no instances: its job waits again.

        Args:
            attempt: the attempt.
            launch: the end of its launch.
            in_a_row: whether it counts with those before it: not if an outage may have left it without an answer.

        Raises:
            Conflict: the job or the attempt was changed meanwhile.
        """
        job = find_job(self._table, attempt.job_name)
        before = job.failed.value() if job is not None and job.failed is not None else None
        failed = add(before, launch) if in_a_row else add_of_outage(before, launch)
        answer = replace(failed, cause=launch.cause, code=launch.code, text=launch.text)
        reason = reasons.launch_postponed(answer, launch.known_ms)
        self._postpone(attempt, reason, launch.known_ms, failed=failed, job=job)

    def _pools_size(self, attempt: AttemptRecord) -> int:
        return sum(self._sizes.get(pool, 0) for pool in attempt.demand)

    def _postpone(
        self,
        attempt: AttemptRecord,
        reason: Reason,
        now_ms: int,
        *,
        name_is_free: bool = True,
        failed: FailedLaunches | None = None,
        job: JobRecord | None = None,
    ) -> None:
        """Put the job back into its place in the queue.

        Args:
            attempt: its attempt, which was not launched.
            reason: why.
            now_ms: now.
            name_is_free: whether SageMaker has no training job of that name.
            failed: its launches in a row that got no instances; None to leave them as they are.
            job: the job; None to read it.

        Raises:
            Conflict: the job or the attempt was changed meanwhile.
        """
        job = job or find_job(self._table, attempt.job_name)
        if job is None or job.job_state is not JobState.RUNNING:
            raise Conflict([0])
        # Of a launch that is only taken for failed, SageMaker may still show a training job of that name.
        name_is_free = name_is_free and attempt.unanswered_ms is None
        self._table.write(
            transitions.defer_launch(
                job,
                attempt,
                reason,
                now_ms,
                failed=failed,
                name_is_free=name_is_free,
                machine_ms=self._machine_clock(),
            )
        )

    def _request(self, attempt: AttemptRecord) -> Mapping[str, Any]:
        """The stored request, on the attempt's alternative and under its name, with the queue's marks."""
        try:
            stored = find_request_of(self._table, attempt)
        except UnreadableRecord as error:
            raise LaunchPostponed("RequestUnreadable", str(error), cause=Cause.UNREADABLE) from error
        if stored is None:
            told = "its request is missing from the table of the queue"
            raise LaunchPostponed("RequestMissing", told, cause=Cause.UNREADABLE)
        request = stored if attempt.keep_s else without_warm_pool(stored)
        marks = [{"Key": JOB_TAG, "Value": attempt.job_name}, {"Key": ATTEMPT_TAG, "Value": attempt.mark}]
        if attempt.on_demand:
            request = on_demand(request)
        request = with_pending_limit(request, attempt.pending_limit_s)
        return {**request, "TrainingJobName": attempt.attempt_name, "Tags": [*request.get("Tags", []), *marks]}


def _cause(attempt: AttemptRecord, error: OutcomeUnknown) -> str:
    return f"SageMaker gave no answer to a launch on {describe(attempt.demand)} ({error})"
