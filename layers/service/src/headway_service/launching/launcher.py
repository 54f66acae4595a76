"""Executes intents: launches and stops attempts as they were decided.

Decisions only write intents; the launcher reads them and calls SageMaker. A lease controls which invocation may
reconcile a launch: the one that wrote the intent holds the lease for as long as it can run, and no other acts on the
launch before. So a canceled launch can never be executed late (promise 6).

The calls of several launches may wait for SageMaker in parallel (:meth:`Launcher.create`). What follows from their
answers is done one after the other: a call changes nothing here, and none begins in a pool that backs off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from headway.lifecycle import AttemptState
from headway.model import Demand
from headway.refusals import Cause
from headway_service.errors import LaunchPostponed, OutcomeUnknown, UnreadableRecord
from headway_service.invocation import Invocation
from headway_service.launching.backoff import MAX_BACK_OFF_S, PoolBackoff
from headway_service.launching.conclusions import Conclusions
from headway_service.launching.launches import Launch, LaunchesInFlight
from headway_service.launching.proofs import MAX_UNANSWERED, Proof, Proofs
from headway_service.launching.stops import Stops
from headway_service.observability.logging import logger
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs
from headway_service.sagemaker_api.launch_request import on_demand, with_pending_limit, without_warm_pool
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord
from headway_service.store.repository import find_request_of
from headway_service.tracking.observer import Observer
from headway_service.tracking.warm_pools import WarmPoolTracker

ONE_AT_A_TIME_S = MAX_BACK_OFF_S
"""After one of several launches was throttled, there is one at a time for so long, s."""


class Launcher:
    """Reconciles launching attempts, and stops attempts.

    Args:
        training_jobs: SageMaker.
        observer: applies SageMaker's status of an attempt.
        invocation: this invocation, which takes the leases.
        calls: makes the calls that launch them.
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
        invocation: Invocation,
        calls: ParallelCalls,
        jitter: Callable[[], float],
        launches_at_once: int,
        throttled_ms: int = 0,
    ) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._invocation = invocation
        self._calls = calls
        self._machine_clock = machine_clock = invocation.clocks.machine_ms
        self.backoff = PoolBackoff(table, jitter)
        self.warm_pools = WarmPoolTracker(table, training_jobs, machine_clock, releases=True)
        self._stops = Stops(table, training_jobs, observer)
        self._proofs = Proofs(table, training_jobs, self.backoff, machine_clock, throttled_ms)
        self._conclusions = Conclusions(table, observer, self._stops, self.backoff, machine_clock)
        self._launches_at_once = launches_at_once
        self._paused: frozenset[str] = frozenset()

    @property
    def throttled_ms(self) -> int:
        """When one of several launches was last throttled, machine time, ms; 0 for never."""
        return self._proofs.throttled_ms

    def update(self, ledger: Ledger) -> None:
        """Apply the ledger's back-offs, sizes and pauses."""
        self.backoff.update(ledger.pools)
        self._proofs.update(ledger)
        self._paused = frozenset(pool.pool for pool in ledger.pools if ledger.pause_of(pool.pool) is not None)

    def is_backing_off(self, demand: Demand) -> bool:
        """Whether any of the pools of a demand backs off."""
        return self.backoff.is_backing_off(demand, self._machine_clock())

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

    def in_flight(self, reconcile: Callable[[Launch], bool]) -> LaunchesInFlight:
        """The launches of this invocation that wait for SageMaker: none yet.

        Args:
            reconcile: reconciles one that was answered; returns whether it went as decided.
        """
        return LaunchesInFlight(self._calls, at_once=self.launches_at_once, reconcile=reconcile)

    def pending(self, attempt: AttemptRecord) -> bool:
        """Whether there is anything to do for an attempt that this invocation may do."""
        if attempt.attempt_state is AttemptState.LAUNCHING:
            if attempt.mark in self._proofs.unanswered:
                return False
            if not self.has_accepted(attempt) and self._is_to_launch(attempt) and not self._may_try(attempt):
                return False
            return attempt.lease_holder == self._invocation.holder or attempt.lease_until_ms < self._machine_clock()
        return attempt.attempt_state is AttemptState.STOPPING and attempt.stop_sent_ms is None

    def lease(self, attempt: AttemptRecord) -> AttemptRecord:
        """Take the lease of an attempt, if it needs one that this invocation does not hold.

        Raises:
            Conflict: it was changed meanwhile.
        """
        if attempt.attempt_state is not AttemptState.LAUNCHING or attempt.lease_holder == self._invocation.holder:
            return attempt
        attempt, writes = transitions.take_lease(attempt, self._invocation.holder, self._invocation.lease_until_ms)
        self._table.write(writes)
        return attempt

    def has_accepted(self, attempt: AttemptRecord) -> bool:
        """Whether SageMaker has accepted an attempt in this invocation."""
        return attempt.mark in self._proofs.accepted

    def needs_call(self, attempt: AttemptRecord) -> bool:
        """Whether CreateTrainingJob has to be called to reconcile an attempt."""
        if attempt.attempt_state is not AttemptState.LAUNCHING or self.has_accepted(attempt):
            return False
        return self._is_to_launch(attempt) and not self._is_asked(attempt)

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
            now_ms: the training time, ms.
            launch: the call of :meth:`create`, if there was one; None calls it if the attempt needs that.

        Returns:
            Whether it went as it was decided: SageMaker launches it, or stops it. Otherwise instances may have come
            free, or a job may have been requeued, which requires another decision.

        Raises:
            Conflict: it was changed meanwhile; nothing was decided.
            OutcomeUnknown: SageMaker gave no clear answer; the intent stays.
        """
        attempt = self.lease(attempt)
        if attempt.attempt_state is not AttemptState.LAUNCHING:
            return self._stops.stop(attempt, now_ms)
        return self._conclusions.record(attempt, self._proof(attempt, launch, now_ms), now_ms)

    def _proof(self, attempt: AttemptRecord, launch: Launch | None, now_ms: int) -> Proof:
        """What is proven of a launch: by what is known, by asking about it, or by calling for it."""
        is_to_launch, is_asked = self._is_to_launch(attempt), self._is_asked(attempt)
        if launch is not None:
            return self._proofs.of_call(attempt, launch, now_ms)
        if self.has_accepted(attempt):
            return self._proofs.accepted[attempt.mark]
        if not is_to_launch:
            # Perhaps an earlier invocation called CreateTrainingJob before it died.
            return self._proofs.of_canceled(attempt)
        if is_asked:
            return self._proofs.of_question(attempt, now_ms)
        called = Launch(attempt=attempt, answer=partial(self.create, attempt), asked_ms=now_ms)
        return self._proofs.of_call(attempt, called, now_ms)

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

    def _is_to_launch(self, attempt: AttemptRecord) -> bool:
        """Whether a launching attempt is to be launched, not canceled."""
        return attempt.stop_cause is None and self._paused.isdisjoint(attempt.demand)

    def _may_try(self, attempt: AttemptRecord) -> bool:
        """Whether a launch may be called, or asked about, now."""
        return not self._proofs.is_silent if self._is_asked(attempt) else not self.is_backing_off(attempt.demand)

    def _is_asked(self, attempt: AttemptRecord) -> bool:
        """Whether SageMaker is asked about a launch without a clear answer: a call more would not tell more.

        While its pools back off, an answer to the question ends that.
        """
        unanswered = attempt.unanswered + (attempt.lease_holder not in {NOBODY, self._invocation.holder})
        return bool(unanswered) and (unanswered >= MAX_UNANSWERED or self.is_backing_off(attempt.demand))

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
