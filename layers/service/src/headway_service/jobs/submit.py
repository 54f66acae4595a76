"""Submits jobs: checks a request and puts it into the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.policy import Policy
from headway_service.admission.admit import admit
from headway_service.admission.queue_limits import QueueLimits
from headway_service.config.authorization import Caller
from headway_service.errors import Conflict, FieldError, NameInUse, QueueFull
from headway_service.jobs.new_job import new_job
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, get_job


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What all submissions of one call are checked against."""

    in_force: EffectiveConfig
    room: QueueLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmittedJob:
    """A job that a submission has put into the queue, or found there.

    Attributes:
        job: the job.
        made: whether this submission created it.
        new: whether this submission created it, or an earlier one with the same key.
    """

    job: JobRecord
    made: bool
    new: bool


class Submitter:
    """Submits jobs.

    Args:
        table: the table.
        wake: requests a tick.
        clock: now, ms.
        in_force: the configuration in effect.
    """

    def __init__(
        self, *, table: Table, wake: Wake, clock: Callable[[], int], in_force: Callable[[], EffectiveConfig]
    ) -> None:
        self._table = table
        self._wake = wake
        self._clock = clock
        self._in_force = in_force
        self._explainer = PositionExplainer(table, clock, self._policy)

    def submit(self, request: Any, caller: Caller, key: str | None = None) -> tuple[JobView, bool]:
        """Submit a CreateTrainingJob request.

        Args:
            request: the request as decoded from JSON.
            caller: the caller, who will own the job.
            key: the idempotency key of the call, if it has one.

        Returns:
            The job, and whether this call created it, or an earlier one with the same key. The same request of the same
            caller under the same name is the same job.

        Raises:
            InvalidRequest, RequestTooLarge, NotAllowed, RuleViolation, ImpossibleDemand: see
                :func:`headway_service.admission.admit.admit`.
            QueueFull: see :meth:`headway_service.admission.queue_limits.QueueLimits.require`.
            NameInUse: another request, or another caller's, has that name.
        """
        terms = self.terms(caller)
        entered = self.enter(request, caller, key, terms)
        return self.places([entered], terms)[0], entered.new

    def terms(self, caller: Caller) -> Terms:
        """What the submissions of a caller are checked against, as of now."""
        in_force = self._in_force()
        return Terms(in_force=in_force, room=QueueLimits(self._table, in_force.configuration.limits, caller.arn))

    def enter(self, request: Any, caller: Caller, key: str | None, terms: Terms) -> SubmittedJob:
        """Submit a request as :meth:`submit` does, without its position in the queue.

        Args:
            request: the request as decoded from JSON.
            caller: the caller, who will own the job.
            key: the idempotency key of the call, if it has one.
            terms: from :meth:`terms`.
        """
        configuration = terms.in_force.configuration
        admitted = admit(request, configuration, caller)
        job = new_job(admitted, configuration.policy(), owner=caller.arn, key=key, now_ms=self._clock())
        try:
            terms.room.require(job)
        except QueueFull:
            # A repeated call gets the same answer, even if its job was the last that fitted.
            if find_job(self._table, job.job_name) is None:
                raise
        try:
            self._table.write(transitions.enqueue(job, admitted.request))
        except Conflict:
            known = get_job(self._table, admitted.name)
            # The answer does not say whether a request equals another owner's, as that would reveal what is redacted.
            if known.owner != caller.arn or known.request_digest != admitted.digest:
                raise NameInUse(
                    f"another request is in the queue as `{admitted.name}` ({known.job_state}): choose a new name",
                    [FieldError(field="TrainingJobName", message="is the name of another job in the queue")],
                ) from None
            # The first call may have died before it sent the wake-up.
            self._wake("submitted again")
            return SubmittedJob(job=known, made=False, new=key is not None and known.idempotency_key == key)
        terms.room.record(job)
        logger.info("accepted", extra={"job": job.job_name, "priority": job.priority, "demand": job.demand})
        self._wake("submitted")
        return SubmittedJob(job=job, made=True, new=True)

    def places(self, entered: Sequence[SubmittedJob], terms: Terms) -> list[JobView]:
        """The submitted jobs with their positions, in the order given; those found in the queue are explained.

        Args:
            entered: from :meth:`enter`.
            terms: from :meth:`terms`.
        """
        made = [each.job for each in entered if each.made]
        places = self._explainer.places(made, terms.in_force.lines, terms.room.lines)
        known = iter(self._explainer.explain([each.job for each in entered if not each.made]))
        return [
            JobView(job=each.job, place=places[each.job.job_name], reason=each.job.reason) if each.made else next(known)
            for each in entered
        ]

    def _policy(self) -> Policy:
        return self._in_force().configuration.policy()
