"""Submits jobs: checks a request and puts it into the queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from headway.jobpolicy.rules import violations
from headway.lifecycle import TERMINAL
from headway.policy import Policy
from headway.prediction.run_times import RunTimes
from headway_service.admission.admit import admit
from headway_service.admission.admitted import Admitted
from headway_service.admission.checks import times, training_plans
from headway_service.admission.policy_view import job_for_rules
from headway_service.admission.queues.budgets import RefusingBudgets
from headway_service.admission.queues.limits import QueueLimits
from headway_service.checkpoints.location import checkpoints_of
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.errors import (
    BudgetSpent,
    Conflict,
    FieldError,
    ImpossibleDemand,
    InvalidRequest,
    NameInUse,
    NotAllowed,
    QueueFull,
    RetryLater,
    RuleViolation,
    UnreadableRecord,
)
from headway_service.jobs.dependencies import Resolved, resolve
from headway_service.jobs.new_job import new_job
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.jobs.predicted_run import predict_run
from headway_service.jobs.same_name import PRIORITY_FIELDS, differing_fields
from headway_service.jobs.shared_checkpoints import MAX_LOCATION_BYTES, LocationNote, SharedCheckpoints, find_shared
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.objects import Location
from headway_service.ports.table import Table, Write
from headway_service.reuse.entry import Entry, ReuseEntry
from headway_service.sagemaker_api.training_request import TrainingRequest
from headway_service.store import transitions
from headway_service.store.queue_tail import MAX_NEW_PLACE
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, find_plans, find_stored_request, retry_on_conflict


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionContext:
    """What all submissions of one call have in common.

    Attributes:
        caller: the caller, who will own the jobs.
        key: the idempotency key of the call, if it has one.
        config: the configuration that they are checked against.
        limits: the limits that they are counted against.
        budgets: the budgets that may refuse them.
    """

    caller: Caller
    key: str | None
    config: EffectiveConfig
    limits: QueueLimits
    budgets: RefusingBudgets

    @property
    def configuration(self) -> Configuration:
        """The configuration that they are checked against."""
        return self.config.configuration


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmittedJob:
    """A job that a submission has put into the queue, or found there.

    Attributes:
        job: the job.
        created: whether this submission created it.
        new: whether this submission created it, or an earlier one with the same key.
    """

    job: JobRecord
    created: bool
    new: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedJob:
    """A job that has a place in its queues, and is not written yet."""

    admitted: Admitted
    job: JobRecord
    writes: tuple[Write, ...]
    #: What is written once these are.
    after: tuple[Write, ...]
    #: Where the job writes its checkpoints; None if it writes none.
    location: Location | None


class Submitter:
    """Submits jobs.

    Args:
        wake: requests a tick.
        clocks: training time and machine time.
        in_force: the configuration in effect.
        reuse: has jobs answered by equal ones.
        run_times: returns how long the jobs that have completed ran.
    """

    def __init__(
        self,
        *,
        table: Table,
        wake: Wake,
        clocks: Clocks,
        in_force: Callable[[], EffectiveConfig],
        reuse: ReuseEntry,
        run_times: Callable[[], RunTimes],
    ) -> None:
        self._table = table
        self._reuse = reuse
        self._run_times = run_times
        self._wake = wake
        self._clocks = clocks
        self._in_force = in_force
        self._explainer = PositionExplainer(table, clocks, self._policy)

    def submit(self, request: Any, caller: Caller, key: str | None = None) -> tuple[JobView[JobRecord], bool]:
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
            QueueFull: see :meth:`headway_service.admission.queues.limits.QueueLimits.require`.
            BudgetSpent: see :meth:`headway_service.admission.queues.budgets.RefusingBudgets.require`.
            NameInUse: another request, or another caller's, has that name.
        """
        context = self.context(caller, key)
        submitted = self.enqueue(request, context)
        context.limits.store_counts()
        return self.places([submitted], context)[0], submitted.new

    def context(self, caller: Caller, key: str | None = None, jobs: int = 1) -> SubmissionContext:
        """The context of the submissions of a call, as of now.

        Args:
            caller: the caller, who will own the jobs.
            key: the idempotency key of the call, if it has one.
            jobs: how many jobs are submitted.
        """
        config = self._in_force()
        limits = QueueLimits(self._table, config.configuration.limits, caller.arn, self._clocks.machine_ms, jobs=jobs)
        budgets = RefusingBudgets(self._table, config.configuration.policy(), self._clocks.training_ms)
        return SubmissionContext(caller=caller, key=key, config=config, limits=limits, budgets=budgets)

    def enqueue(self, request: Any, context: SubmissionContext) -> SubmittedJob:
        """Submit a request as :meth:`submit` does, but do not compute its position in the queue.

        Args:
            request: the request as decoded from JSON.
            context: from :meth:`context`.

        Raises:
            RequestError: see :meth:`submit`.
        """
        return self.enter(admit(request, context.configuration, context.caller), context)

    def prepare(self, admitted: Admitted, context: SubmissionContext) -> PreparedJob:
        """Prepare a job that needs nothing but a name and a place in its queues (:func:`stands_alone`).

        It counts against the limits from now on, unless it is given back (``context.limits.forget``).

        Args:
            admitted: the request.
            context: from :meth:`context`.

        Raises:
            QueueFull, BudgetSpent: see :meth:`submit`.
        """
        shared = self._shared_checkpoints(admitted, context)
        location = None if shared is None else shared.location
        job = self._new_job(admitted, context, checkpoints_of=_told(shared, context))
        context.limits.require(job)
        context.budgets.require(job)
        context.limits.record(job)
        note = self._note(shared, job)
        writes = (*transitions.enqueue(job, admitted.request, admitted.alternatives), *note.within)
        return PreparedJob(admitted=admitted, job=job, writes=writes, after=note.after, location=location)

    def write(self, prepared: Sequence[PreparedJob]) -> list[SubmittedJob]:
        """Write prepared jobs in one transaction.

        Args:
            prepared: the jobs, with different names.

        Raises:
            Conflict: there is a job of one of the names; no job was written.
        """
        self._table.write([write for each in prepared for write in each.writes])
        for each in prepared:
            self._write_after(each.after)
        return [self._accepted(each.job) for each in prepared]

    def enter(self, admitted: Admitted, context: SubmissionContext) -> SubmittedJob:
        """Put the job of an admitted request into the queue, as :meth:`enqueue` does.

        Args:
            admitted: the request.
            context: from :meth:`context`.

        Raises:
            RequestError: see :meth:`submit`.
        """
        busy = RetryLater(
            f"a job that `{admitted.name}` depends on keeps changing, or others take its location: try again soon"
        )
        return retry_on_conflict(lambda: self._enqueue(admitted, context), otherwise=busy)

    def _enqueue(self, admitted: Admitted, context: SubmissionContext) -> SubmittedJob:
        """Put the job of an admitted request into the queue, or find it there.

        Raises:
            Conflict: a job that it depends on has changed since it was read.
        """
        configuration, plans = context.configuration, partial(find_plans, self._table)
        try:
            times.require_ahead(admitted.not_before_ms, admitted.start_by_ms, self._clocks.training_ms())
            found = resolve(self._table, admitted.depends_on, context.caller, configuration.access_rules())
            training_plans.require_usable(admitted.all_demands, plans, configuration, self._clocks.training_ms())
            shared = self._shared_checkpoints(admitted, context)
            job = self._new_job(admitted, context, found.depends_on, checkpoints_of=_told(shared, context))
            entry = self._entry(job, admitted, found, context)
            job = entry.job
            if job.ending is None:
                context.limits.require(job)
                context.budgets.require(job)
            note = self._note(shared if job.ending is None else None, job)
            self._table.write([*entry.writes, *note.within])
        except (QueueFull, BudgetSpent, InvalidRequest, ImpossibleDemand, NotAllowed, RuleViolation, Conflict):
            # A repeated call gets the same answer, even if its job was the last that fitted, its plan has ended, or a
            # job that it depends on has ended otherwise.
            known = find_job(self._table, admitted.name)
            if known is None:
                raise
            return self._known(known, admitted, context)
        self._write_after(note.after)
        context.limits.record(job)
        return self._accepted(job)

    def _new_job(
        self,
        admitted: Admitted,
        context: SubmissionContext,
        depends_on: tuple[DependencyRecord, ...] = (),
        *,
        checkpoints_of: tuple[str, ...] = (),
    ) -> JobRecord:
        """The job of an admitted request, with its predicted run time where an order compares that."""
        owner, configuration = context.caller.arn, context.configuration
        return new_job(
            admitted,
            configuration.policy(),
            owner=owner,
            key=context.key,
            now_ms=self._clocks.training_ms(),
            prediction=predict_run(admitted, owner, configuration, self._run_times),
            depends_on=depends_on,
            checkpoints_of=checkpoints_of,
        )

    def _shared_checkpoints(self, admitted: Admitted, context: SubmissionContext) -> SharedCheckpoints | None:
        """Who writes checkpoints where the job does; None if it writes none.

        Raises:
            RuleViolation: a rule wants it to be nobody.
        """
        location = location_of(admitted)
        if location is None:
            return None
        is_exclusive = bool(_broken(admitted, ("another job",), context.configuration))
        shared = find_shared(self._table, location, admitted.name, admitted.depends_on, is_exclusive=is_exclusive)
        if is_exclusive and (told := _told(shared, context)):
            fields = _broken(admitted, told, context.configuration)
            raise RuleViolation(f"{fields[0].field} {fields[0].message}", fields)
        return shared

    def _note(self, shared: SharedCheckpoints | None, job: JobRecord) -> LocationNote:
        return LocationNote() if shared is None else shared.note(job, self._clocks.machine_ms())

    def _write_after(self, writes: Sequence[Write]) -> None:
        """Write what is of use to others, of a job that is accepted, whether this can be written or not."""
        try:
            if writes:
                self._table.write(writes)
        except RetryLater:
            logger.warning("the location of a job is not known to others", exc_info=True)

    def _accepted(self, job: JobRecord) -> SubmittedJob:
        logger.info("accepted", extra={"job": job.job_name, "priority": job.priority, "demand": job.demand})
        self._wake("submitted")
        return SubmittedJob(job=job, created=True, new=True)

    def _entry(self, job: JobRecord, admitted: Admitted, found: Resolved, context: SubmissionContext) -> Entry:
        """How a job is accepted: it enters its queues, or waits for others, or an equal one answers it."""
        if job.reuse is not None:
            self._reuse.require_enabled()
        request = found.fill_in(self._table, admitted.request, beside_bytes=len(admitted.alternatives.encode()))
        if job.reuse is None or found.awaited or admitted.array is not None:
            sweep = admitted.array.sweep if admitted.array is not None else ""
            writes = transitions.enqueue(job, request, admitted.alternatives, found.awaited, sweep=sweep)
            return Entry(job=job, writes=tuple(writes))
        access = context.configuration.access_rules()
        return self._reuse.accept(job, request, admitted.alternatives, context.caller, access)

    def _known(self, known: JobRecord, admitted: Admitted, context: SubmissionContext) -> SubmittedJob:
        """The job that is in the queue by the name of a request, if that request made it."""
        # The answer does not say whether a request equals another owner's, as that would reveal what is redacted.
        if known.owner != context.caller.arn:
            raise NameInUse(
                f"`{admitted.name}` is the name of another job in the queue ({known.job_state}): choose a new name",
                [FieldError(field="TrainingJobName", message="is the name of another job in the queue")],
            ) from None
        if known.request_digest != admitted.digest:
            raise self._differs(known, admitted) from None
        # The first call may have died before it sent the wake-up.
        self._wake("submitted again")
        is_same_call = context.key is not None and known.idempotency_key == context.key
        return SubmittedJob(job=known, created=False, new=is_same_call)

    def _differs(self, known: JobRecord, admitted: Admitted) -> NameInUse:
        """The refusal of a request whose name the caller's own job has."""
        fields: list[str] = []
        with suppress(UnreadableRecord):
            stored = find_stored_request(self._table, admitted.name)
            fields = [] if stored is None else differing_fields(stored.first, json.loads(admitted.request))
        what = ", ".join(f"`{field}`" for field in fields) or "what it has beside its CreateTrainingJob request"
        is_priority = bool(fields) and PRIORITY_FIELDS.issuperset(fields) and known.job_state not in TERMINAL
        priority = f"{admitted.name} {admitted.terms.priority}"
        change = f"change its priority with `headway priority {priority}`, or " if is_priority else ""
        return NameInUse(
            f"this request differs from the job in the queue, your `{admitted.name}` ({known.job_state}), in {what}: "
            f"{change}choose a new name for another job",
            [FieldError(field=field, message="differs from the job in the queue") for field in fields],
        )

    def places(self, submitted: Sequence[SubmittedJob], context: SubmissionContext) -> list[JobView[JobRecord]]:
        """The submitted jobs with their positions, in the order given; those found in the queue are explained.

        Args:
            submitted: from :meth:`enqueue`.
            context: from :meth:`context`.
        """
        created = [each.job for each in submitted if each.created]
        places = self._explainer.places(created, context.config.queue_teams, context.limits.tails, most=MAX_NEW_PLACE)
        known = iter(self._explainer.explain([each.job for each in submitted if not each.created]))
        return [
            JobView(
                job=each.job,
                place=places[each.job.job_name] if each.job.is_queued else None,
                reason=each.job.reason,
            )
            if each.created
            else next(known)
            for each in submitted
        ]

    def _policy(self) -> Policy:
        return self._in_force().configuration.policy()


def stands_alone(admitted: Admitted) -> bool:
    """Whether a request makes a job that needs nothing but a name and a place in its queues."""
    needs = admitted.depends_on or admitted.array is not None or admitted.reuse is not None
    has_times = admitted.not_before_ms is not None or admitted.start_by_ms is not None
    return not needs and not has_times and not training_plans.plan_pools(admitted.all_demands)


def location_of(admitted: Admitted) -> Location | None:
    """Where the job of a request writes its checkpoints; None if it writes none, or that is too long to keep."""
    location = checkpoints_of(json.loads(admitted.request)) if admitted.terms.checkpoints else None
    return location if location is not None and len(location.key.encode()) <= MAX_LOCATION_BYTES else None


def _told(shared: SharedCheckpoints | None, context: SubmissionContext) -> tuple[str, ...]:
    return () if shared is None else shared.told(context.caller, context.configuration.access_rules())


def _broken(admitted: Admitted, checkpoints_of: tuple[str, ...], configuration: Configuration) -> list[FieldError]:
    """What rules forbid of a job that writes its checkpoints where others do: it keeps all other rules.

    Args:
        checkpoints_of: these others, in words.
    """
    rules = [rule for rule in configuration.job_rules() if rule.wants_unique_checkpoints]
    if not rules:
        return []
    request = TrainingRequest.parse(json.loads(admitted.request))
    job = job_for_rules(request.raw, request.tags, configuration, admitted.terms.team, checkpoints_of)
    return [FieldError(field=each.field, message=each.message) for each in violations(rules, job)]
