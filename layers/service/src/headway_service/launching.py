"""Carries out intents: launches attempts that were decided on, and stops those that have to go.

Decisions only write intents; this reads them and calls SageMaker. A crash anywhere in between leaves an intent
that the next tick finds, so recovery is the normal way taken once more. Who may settle a launch is ruled by a
lease: whoever wrote the intent holds it for as long as its invocation can live, and nobody else touches the
launch before. So a launch that was given up can never be carried out late (promise 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.capacity import describe
from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.reasons import Reason, ReasonCode
from headway_service import transitions
from headway_service.admission import ATTEMPT_TAG, JOB_TAG
from headway_service.backing_off import BackOffs
from headway_service.errors import (
    Conflict,
    LaunchPostponed,
    LaunchRefused,
    NameTaken,
    NothingToStop,
    Throttled,
    Unclear,
)
from headway_service.ledger import Ledger
from headway_service.log import logger
from headway_service.observation import Observer
from headway_service.ports import Table, TrainingJobs
from headway_service.records import AttemptRecord, JobRecord, StopCause, request_in, request_key
from headway_service.variants import on_demand, without_warm_pool

POSTPONED_FOR_S = 60
"""How long a job waits after SageMaker postponed its launch (an account quota, a permission)."""

LEASE_MARGIN_MS = 5_000
"""A lease outlives its invocation by this much, for clocks that differ."""

NOBODY = ""
"""Holder of a lease that was given back."""


class Launcher:
    """Settles what is launching or has to be stopped.

    Args:
        table: the table.
        training_jobs: SageMaker.
        observer: takes what SageMaker says of an attempt.
        holder: names this invocation, and no other.
        deadline_ms: when this invocation dies, ms; bounds the leases it takes.
        jitter: a random number from 0 to 1, for back-offs.
    """

    def __init__(
        self,
        table: Table,
        training_jobs: TrainingJobs,
        observer: Observer,
        *,
        holder: str,
        deadline_ms: int,
        jitter: Callable[[], float],
    ) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._observer = observer
        self.holder = holder
        self.lease_until_ms = deadline_ms + LEASE_MARGIN_MS
        self.back_offs = BackOffs(table, jitter)
        self._paused: frozenset[str] = frozenset()

    def learn(self, ledger: Ledger) -> None:
        """Take in what the ledger says of pools that back off or are paused."""
        self.back_offs.learn(ledger.pools)
        self._paused = frozenset(pool.pool for pool in ledger.pools if ledger.pause_of(pool.pool) is not None)

    def pending(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Whether there is anything to do for an attempt that this invocation may do."""
        if attempt.attempt_state is AttemptState.LAUNCHING:
            launches = attempt.stop_cause is None and not self._is_paused(attempt)
            if launches and self.back_offs.hold(attempt.demand, now_ms):
                return False
            return attempt.lease_holder == self.holder or attempt.lease_until_ms < now_ms
        return attempt.attempt_state is AttemptState.STOPPING and attempt.stop_sent_ms is None

    def settle(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Launch or stop an attempt.

        Returns:
            Whether it went as it was decided: SageMaker launches it, or stops it. Otherwise instances may have come
            free, or a job may be back in line, and that is worth another decision.

        Raises:
            Conflict: somebody else changed it meanwhile; nothing was decided.
            Unclear: SageMaker gave no clear answer; the intent stays.
        """
        if attempt.attempt_state is AttemptState.LAUNCHING:
            if attempt.lease_holder != self.holder:
                attempt, writes = transitions.take_lease(attempt, self.holder, self.lease_until_ms)
                self._table.write(writes)
            if attempt.stop_cause is not None:
                self._give_up(attempt, now_ms)
            elif self._is_paused(attempt):
                self._withdraw(attempt, now_ms)
            else:
                return self._launch(attempt, now_ms)
            return False
        return self._stop(attempt, now_ms)

    def _is_paused(self, attempt: AttemptRecord) -> bool:
        return not self._paused.isdisjoint(attempt.demand)

    def _launch(self, attempt: AttemptRecord, now_ms: int) -> bool:
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name}
        try:
            self._training_jobs.create(self._request(attempt))
        except NameTaken:
            ours = self._is_ours(attempt)
            if ours is None:
                raise Unclear(f"`{attempt.attempt_name}` is both in use and not there") from None
            if ours:
                logger.info("launched by an earlier try", extra=log)
                self._confirm(attempt, now_ms)
                self._look(attempt, now_ms)
                return False
            text = f"SageMaker has another training job named `{attempt.attempt_name}`; the next try uses another name"
            self._postpone(attempt, ReasonCode.NAME_TAKEN, text, now_ms, name_is_free=False)
        except LaunchPostponed as error:
            logger.warning("launch postponed", extra={**log, "error": error.code})
            text = f"SageMaker did not launch it now ({error}); next try in {POSTPONED_FOR_S} s"
            self._postpone(
                attempt, ReasonCode.LAUNCH_POSTPONED, text, now_ms, name_is_free=True, wait_s=POSTPONED_FOR_S
            )
        except LaunchRefused as error:
            logger.warning("launch refused", extra={**log, "error": error.code})
            reason = Reason(
                code=ReasonCode.LAUNCH_REFUSED,
                message=f"SageMaker refused the request: {error}; correct it and submit it under a new name",
            )
            self._observer.end(attempt, JobTrigger.FAIL, reason, None, now_ms)
        except Throttled as error:
            # Nothing is under way any more: whoever comes next may try, without waiting for the lease to pass.
            self._table.write(transitions.take_lease(attempt, NOBODY, 0)[1])
            self._back_off(attempt, error, now_ms)
            raise
        except Unclear as error:
            # Nobody knows whether it was launched, so the intent stays and the lease with it.
            logger.warning("launch unclear; the intent stays", extra=log)
            self._back_off(attempt, error, now_ms)
            raise
        else:
            logger.info("launched", extra=log)
            return self._confirm(attempt, now_ms, created=True)
        return False

    def _back_off(self, attempt: AttemptRecord, error: Unclear, now_ms: int) -> None:
        cause = f"SageMaker gave no answer to a launch on {describe(attempt.demand)} ({error})"
        self.back_offs.begin(attempt.demand, cause, now_ms)

    def _confirm(self, attempt: AttemptRecord, now_ms: int, *, created: bool = False) -> bool:
        confirmed, writes = transitions.confirm(attempt, now_ms, created=created)
        self._table.write(writes)
        return confirmed.attempt_state is not AttemptState.STOPPING or self._stop(confirmed, now_ms)

    def _give_up(self, attempt: AttemptRecord, now_ms: int) -> None:
        """A launch that has to stop: perhaps an earlier invocation called CreateTrainingJob before it died."""
        if self._is_ours(attempt):
            self._confirm(attempt, now_ms)
            return
        requested = attempt.stop_cause is StopCause.REQUEST
        trigger = JobTrigger.END_STOPPED if requested else JobTrigger.YIELD
        code = ReasonCode.STOPPED if requested else ReasonCode.RETURNED_TO_LINE
        reason = Reason(code=code, message="stopped before SageMaker launched it")
        self._observer.end(attempt, trigger, reason, None, now_ms)

    def _withdraw(self, attempt: AttemptRecord, now_ms: int) -> None:
        """A launch that an earlier invocation left behind, in a pool that was paused since.

        If that invocation called CreateTrainingJob before it died, the attempt runs; else nobody calls it any more.
        """
        ours = self._is_ours(attempt)
        if ours:
            self._confirm(attempt, now_ms)
            self._look(attempt, now_ms)
            return
        text = "its pool was paused before SageMaker launched it; waits again, in its old place in line"
        self._postpone(attempt, ReasonCode.RETURNED_TO_LINE, text, now_ms, name_is_free=ours is None)

    def _stop(self, attempt: AttemptRecord, now_ms: int) -> bool:
        try:
            self._training_jobs.stop(attempt.attempt_name)
        except NothingToStop:
            # Ended, or stopping already on somebody else's request: then its end will be told as any other.
            if self._look(attempt, now_ms):
                return False
            item = self._table.get(AttemptRecord.key(attempt.attempt_name))
            if item is None:
                return False
            attempt = AttemptRecord.parse(item)
        logger.info("asked to stop", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        self._table.write(transitions.stop_sent(attempt, now_ms))
        return True

    def _is_ours(self, attempt: AttemptRecord) -> bool | None:
        """Whether the training job of that name carries the attempt's mark; None if there is none."""
        sighting = self._training_jobs.describe(attempt.attempt_name)
        return None if sighting is None else self._training_jobs.mark_of(sighting.arn) == attempt.mark

    def _look(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Take in what SageMaker says of an attempt that is known to be ours. Returns whether it has ended."""
        return self._observer.look(attempt.attempt_name, self._training_jobs, now_ms)

    def _postpone(
        self,
        attempt: AttemptRecord,
        code: ReasonCode,
        text: str,
        now_ms: int,
        *,
        name_is_free: bool,
        wait_s: int = 0,
    ) -> None:
        item = self._table.get(JobRecord.key(attempt.job_name))
        if item is None or (job := JobRecord.parse(item)).job_state is not JobState.RUNNING:
            raise Conflict([0])
        reason = Reason(code=code, message=text)
        not_before_ms = now_ms + wait_s * 1000 if wait_s else 0
        self._table.write(transitions.postpone(job, attempt, reason, not_before_ms, now_ms, name_is_free=name_is_free))

    def _request(self, attempt: AttemptRecord) -> Mapping[str, Any]:
        """The stored request under the attempt's name, with the queue's marks."""
        item = self._table.get(request_key(attempt.job_name))
        if item is None:
            raise Unclear(f"the request of `{attempt.job_name}` is missing from the table")
        request = without_warm_pool(request_in(item))
        marks = [{"Key": JOB_TAG, "Value": attempt.job_name}, {"Key": ATTEMPT_TAG, "Value": attempt.mark}]
        if attempt.on_demand:
            request = on_demand(request)
        return {**request, "TrainingJobName": attempt.attempt_name, "Tags": [*request.get("Tags", []), *marks]}
