"""Changes the requests of waiting jobs. A changed request passes the admission of a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headway import reasons
from headway.lifecycle import TERMINAL, WAITING
from headway.prediction.run_times import RunTimes
from headway.scheduling.standing import standing_on_entry
from headway_service.admission.admit import admit
from headway_service.admission.checks import training_plans
from headway_service.admission.policy_view import job_limit_ms
from headway_service.admission.queues.limits import QueueLimits
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Action, Caller
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, FieldError, InvalidRequest, JobEnded, NotWaiting, RestoreUnfinished
from headway_service.jobs.editor import JobEditor, JobUpdate
from headway_service.jobs.new_job import predicted_run
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.jobs.predicted_run import predict_run
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.records.terms import attributes_of
from headway_service.store.repository import find_pause, find_plans, find_request, find_reservation


@dataclass(frozen=True, kw_only=True, slots=True)
class _Terms:
    """What of a job follows from its request, beside its name and its priority."""

    demand: Mapping[str, int]
    team: str
    limit_ms: int

    def ask_for_more(self, than: _Terms) -> bool:
        """Whether a job with these terms may hold more than one with the others, or for longer, or for another team."""
        more = any(count > than.demand.get(pool, 0) for pool, count in self.demand.items())
        return more or self.limit_ms > than.limit_ms or self.team != than.team


class RequestChanges:
    """Changes the requests of waiting jobs.

    Args:
        wake: requests a tick.
        clocks: training time and machine time.
        configuration: the configuration in effect.
        run_times: returns how long the jobs that have completed ran.
    """

    def __init__(
        self,
        *,
        table: Table,
        wake: Wake,
        clocks: Clocks,
        configuration: Callable[[], Configuration],
        run_times: Callable[[], RunTimes],
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._configuration = configuration
        self._run_times = run_times
        self._editor = JobEditor(table, wake, configuration, clocks.training_ms)
        self._explainer = PositionExplainer(table, clocks, lambda: configuration().policy())

    def change(self, name: str, wanted: RequestChange, caller: Caller) -> JobView[JobRecord]:
        """Change the request of a waiting job. To change nothing about it is no error.

        The changed request is admitted as if the owner of the job submitted it. A job that then asks for no more
        instances and no longer limit than before keeps its place in the queue; another one waits as if it was submitted
        now. A submission is still compared with the first request.

        Args:
            name: of the job.
            wanted: the change.

        Raises:
            JobNotFound: there is none of that name.
            NotAllowed: the caller may not change it, or its owner may not have such a job.
            JobEnded: it has ended.
            NotWaiting: it holds instances.
            RestoreUnfinished: the table was restored, and the job may run already.
            InvalidRequest, RequestTooLarge, RuleViolation, ImpossibleDemand: see
                :func:`headway_service.admission.admit.admit`.
            QueueFull: see :meth:`headway_service.admission.queues.limits.QueueLimits.require`.
            RetryLater: others keep changing it.
        """
        checked: list[QueueLimits] = []

        def change(job: JobRecord) -> JobUpdate | None:
            self._require_changeable(job)
            request = find_request(self._table, job.job_name)
            if request is None:
                raise Conflict.stale()
            changed = wanted.apply(request)
            if changed == request:
                return None
            return self._update(job, request, changed, wanted, caller, checked)

        job, changed = self._editor.edit(name, caller, Action.CHANGE, change, "request changed")
        for limits in checked[-1:]:
            limits.record(job)
            limits.store_counts()
        if changed:
            logger.info("changed", extra={"job": name, "demand": job.demand, "limit_ms": job.limit_ms})
        return self._explainer.explain([job])[0]

    def _update(
        self,
        job: JobRecord,
        request: Mapping[str, Any],
        changed: Any,
        wanted: RequestChange,
        caller: Caller,
        checked: list[QueueLimits],
    ) -> JobUpdate:
        """The change of a job from one request to another. Limits that it was checked against join ``checked``."""
        configuration, now_ms = self._configuration(), self._clocks.training_ms()
        # The job stays its owner's, and in its team, whoever changes it.
        owner = Caller(arn=job.owner or caller.arn, account=caller.account)
        submission = Submission(request=changed, depends_on=_depends_on(job))
        admitted = admit(
            submission,
            configuration,
            owner,
            home=job.team or None,
            left_spot=job.on_demand,
            priority=job.priority,
        )
        if admitted.choices:
            # An earlier version kept its instance preferences, which are alternatives now.
            raise _has_alternatives(job.job_name)
        training_plans.require_usable(admitted.demand, partial(find_plans, self._table), configuration, now_ms)
        before = _Terms(demand=job.demand, team=job.team, limit_ms=_limit_ms(job, request, configuration))
        after = _Terms(
            demand=admitted.demand, team=admitted.terms.team, limit_ms=_limit_ms(job, changed, configuration)
        )
        keeps_place = not after.ask_for_more(before)
        # What it runs and its priority stay, whatever the configuration and the tags say now.
        terms = replace(
            admitted.terms,
            priority=job.priority,
            entry_time_ms=job.entry_time,
            standing=job.standing,
            limit_ms=after.limit_ms,
            preemptions=job.preemption_count,
            source=job.source,
        )
        place: dict[str, Any] = {}
        if not keeps_place:
            prediction = predict_run(admitted, owner.arn, configuration, self._run_times)
            standing = standing_on_entry(
                after.limit_ms,
                after.demand,
                configuration.policy(),
                attained_ms=job.attained_ms or 0,
                predicted_ms=None if prediction is None else prediction.expected_ms,
            )
            terms = replace(terms, entry_time_ms=now_ms, standing=standing)
            place = {"accepted_ms": job.accepted_time, "predicted": predicted_run(prediction)}
        loses_reservation = not keeps_place or dict(after.demand) != job.demand
        moved, writes = transitions.change_request(
            job,
            admitted.request,
            find_reservation(self._table, job.job_name) if loses_reservation else None,
            reasons.changed(wanted.describe(request), caller.name, keeps_place=keeps_place),
            now_ms,
            demand=dict(after.demand),
            max_run_s=admitted.max_run_s,
            on_demand_limit_ms=admitted.on_demand_limit_ms,
            pending_limit_s=admitted.pending_limit_s,
            **attributes_of(terms),
            **place,
        )
        if _queues(moved) - _queues(job):
            limits = QueueLimits(self._table, configuration.limits, job.owner, self._clocks.machine_ms)
            limits.require(moved)
            checked.append(limits)
        return moved, writes

    def _require_changeable(self, job: JobRecord) -> None:
        name = job.job_name
        if job.job_state in TERMINAL:
            raise JobEnded(f"`{name}` has {job.job_state} already: submit the changed request under a new name")
        if job.array is not None:
            raise NotWaiting(f"`{name}` is an array: change members that wait, such as `{name}_0`, or submit it again")
        if job.job_state not in WAITING:
            raise NotWaiting(
                f"`{name}` is {job.job_state}, and only the request of a job that waits can be changed: stop it and "
                "submit the changed request under a new name, or wait until it waits again"
            )
        if job.choices:
            raise _has_alternatives(name)
        pause = find_pause(self._table, PauseRecord.EVERYTHING)
        if pause is not None and pause.restored_ms is not None:
            raise RestoreUnfinished(
                f"the table was restored, and `{name}` may run already: change it when the patrol has checked all "
                "training jobs, mostly within minutes"
            )


def _has_alternatives(name: str) -> InvalidRequest:
    # What changes would have to be said for each alternative.
    message = "cannot change, as the job has alternatives: stop it, and submit the changed request under a new name"
    return InvalidRequest(f"the request of `{name}` {message}", [FieldError(field="alternatives", message=message)])


def _depends_on(job: JobRecord) -> list[dict[str, str]] | None:
    """The dependencies of a job as they are submitted; None for none."""
    submitted = [each for each in job.depends_on if not each.twin]
    return [{"job": each.job_name, "condition": str(each.condition)} for each in submitted] or None


def _limit_ms(job: JobRecord, request: Mapping[str, Any], configuration: Configuration) -> int:
    """How long the next attempt of a job may hold its instances with a request, ms."""
    return job_limit_ms(request, configuration, left_spot=job.on_demand)


def _queues(job: JobRecord) -> set[str]:
    """The queues of a job, whether or not it is held."""
    return {QueueEntry.partition(pool, job.team) for pool in job.demand}
