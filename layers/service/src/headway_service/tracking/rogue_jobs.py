"""Rogue training jobs: detected, charged to their pools, and stopped if the policy requires it.

An attempt of the queue is in the ledger from before it is created until after SageMaker has ended it. So a training job
is rogue if its name was not in the ledger at a moment at which it was live: it was created before, and is live after.
Its tags prove nothing, as any user may set them; an attempt that the ledger has lost is recognized by the code in its
mark (:mod:`headway_service.tracking.lost_attempts`). What SageMaker answers counts, never an event by itself; so events
that repeat, come late or out of order change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway import reasons
from headway.jobpolicy.rules import OnStart, Violation, violations
from headway.model import Demand
from headway.pool_names import SERVERLESS, plan_of, pool_of
from headway.vectors import shortfall, total
from headway_service.admission.policy_view import allocation_limit_ms, job_for_rules
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, LacksPermission, NothingToStop, OutcomeUnknown, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, find_applied
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs, Description, TrainingJobStatus
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.sagemaker_api.training_request import is_serverless, plan_arn
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.marks import Marks
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_attempt, find_rogue_job, retry_on_conflict
from headway_service.tracking.adoption import adoption
from headway_service.tracking.lost_attempts import Lost, Origin, origin_of

STOP_AGAIN_S = 600
"""After this time, the stop of a rogue job that still runs is repeated."""

_MARKED = f"it carries the tag {JOB_TAG}, and no policy stops what carries that"
_FORBIDDEN_OUTSIDE = "the queue is not allowed to: deploy it with AllowStoppingRogueJobs=true"
_FORBIDDEN_OTHERS = (
    f"the queue is not allowed to stop what carries the tag {JOB_TAG} without a mark of its own, such as the jobs of "
    "another queue: stop it there, or with StopTrainingJob"
)
_FORBIDDEN_OWN = (
    "the patrol lacks its permission StopLostAttempts: deploy the template of this version, or use StopTrainingJob"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Verdict:
    """The policy's verdict on a rogue job."""

    demand: Demand
    charged: Demand
    #: Its violations of rules, each in a sentence.
    broken: tuple[str, ...]
    #: Why it is to be stopped; empty if it is not.
    stop: str
    #: Why it is not stopped all the same; empty if it may be.
    protection: str
    #: Why the patrol lacks the permission to stop it, if that turns out.
    forbidden: str
    #: The job that it is an attempt of, if it carries this deployment's mark.
    lost_job: str
    team: str
    #: Whether it carries the mark of an attempt.
    marked: bool

    def reason(self, problem: str) -> ReasonRecord:
        """The displayed reason; ``problem`` is why it could not be stopped, if that failed."""
        return ReasonRecord.of(
            reasons.outside(self.charged, self.broken, stop=self.stop, problem=problem, lost_job=self.lost_job)
        )


class RogueJobTracker:
    """Keeps the records of rogue jobs consistent with SageMaker.

    Args:
        training_jobs: SageMaker.
        marks: this deployment's.
        machine_clock: the machine time, ms.
        stops: whether this function is the one that stops them.
    """

    def __init__(
        self,
        table: Table,
        training_jobs: AllTrainingJobs,
        marks: Marks,
        machine_clock: Callable[[], int],
        *,
        stops: bool = False,
    ) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._marks = marks
        self._machine_clock = machine_clock
        self._stops = stops

    def on_status(self, sighting: TrainingJobStatus, now_ms: int) -> bool:
        """Apply an event about a training job.

        Args:
            sighting: the status of the training job in SageMaker.

        Returns:
            Whether instances became free, so that a tick is due.

        Raises:
            RetryLater: the table is; the same event may be taken again.
        """
        name = sighting.attempt
        if self._known(name) is None and (sighting.ended or self._attempt(name) is not None):
            return False
        try:
            return self.refresh(name, now_ms)
        except OutcomeUnknown as error:
            # The patrol retries.
            logger.warning("not looked at now", extra={"rogue": name, "error": str(error)})
            return False

    def refresh(self, name: str, now_ms: int) -> bool:
        """Ask SageMaker about a training job that may be rogue, and apply the answer.

        Args:
            name: the name of the training job.

        Returns:
            As :meth:`on_status`.

        Raises:
            RetryLater: the table is, or others keep changing it.
            OutcomeUnknown: SageMaker gave no answer.
        """
        force = find_applied(self._table)
        if force is None:
            # There are no pools before the first tick.
            return False
        busy = RetryLater(f"`{name}` keeps changing; check it again")
        return retry_on_conflict(lambda: self._refresh(name, force, now_ms), otherwise=busy)

    def _refresh(self, name: str, force: EffectiveConfig, now_ms: int) -> bool:
        known, attempt = self._known(name), self._attempt(name)
        if known is None and attempt is not None:
            return False
        found = self._training_jobs.described(name)
        if known is not None and _is_gone(known, found, now_ms):
            return self._forget(known, "a rogue job has ended")
        if found is None or not found.live:
            return False
        tags = self._training_jobs.tags_of(found.arn)
        if known is not None and attempt is not None and tags.get(ATTEMPT_TAG) == attempt.mark:
            return self._forget(known, "a rogue job is a live attempt now")
        lost = origin_of(self._table, self._marks, name, tags)
        verdict = _judge(found, tags, force.configuration, lost, known)
        if known is None:
            if not self._is_rogue(found, now_ms):
                return False
            rogue = self._charge(found, verdict, force, now_ms)
        else:
            rogue = self._change(known, found, verdict, force)
        awaiting = lost.job if lost.origin is Origin.AWAITED and _may_go_on(rogue) else None
        if awaiting is not None and self._adopt(rogue, found, awaiting, tags[ATTEMPT_TAG], force, now_ms):
            return True
        if self._stops and is_stop_due(rogue, now_ms):
            self._stop(rogue, verdict, now_ms)
        return bool(known and shortfall(known.charged, rogue.charged))

    def _forget(self, known: RogueJobRecord, why: str) -> bool:
        self._table.write(transitions.forget_rogue(known))
        logger.info(why, extra={"rogue": known.training_job_name, "charged": known.charged})
        return bool(known.charged)

    def _adopt(
        self,
        rogue: RogueJobRecord,
        found: Description,
        job: JobRecord,
        mark: str,
        force: EffectiveConfig,
        now_ms: int,
    ) -> bool:
        """Make a training job the live attempt of the job that waits for it. False if there is no room for it now."""
        names = {"rogue": rogue.training_job_name, "job": job.job_name}
        ledger, machine_ms = read_ledger(self._table), self._machine_clock()
        writes = adoption(ledger, force.configuration, rogue, found.document, job, mark, now_ms, machine_ms)
        try:
            if writes is not None:
                self._table.write(writes)
                logger.info("a lost attempt was adopted", extra=names)
                return True
        except Conflict:
            # A pool holds more than its size, or the job was changed meanwhile.
            pass
        logger.info("a lost attempt is not adopted now; it stays charged", extra=names)
        return False

    def _is_rogue(self, found: Description, now_ms: int) -> bool:
        """Whether a training job that was live a moment ago is no attempt of the queue."""
        if self._attempt(found.name) is not None:
            return False
        if is_proven(found.created_ms, now_ms):
            # It was live when no attempt had its name: SageMaker had created it before that was looked up. A second
            # question would prove no more, and where calls are throttled it may never be answered.
            return True
        again = self._training_jobs.described(found.name)
        return again is not None and again.live and again.created_ms == found.created_ms

    def _charge(self, found: Description, verdict: _Verdict, force: EffectiveConfig, now_ms: int) -> RogueJobRecord:
        rogue = RogueJobRecord(
            training_job_name=found.name,
            arn=found.arn,
            created_ms=found.created_ms,
            since_ms=now_ms,
            **_told(found, verdict, "", force, self._machine_clock()),
        )
        self._table.write(transitions.charge_rogue(rogue))
        logger.info("a rogue job is seen", extra={"rogue": found.name, "demand": rogue.demand, "stop": rogue.stop})
        return rogue

    def _change(
        self, known: RogueJobRecord, found: Description, verdict: _Verdict, force: EffectiveConfig
    ) -> RogueJobRecord:
        problem = known.stop_problem if verdict.stop else ""
        rogue, writes = transitions.update_rogue(known, **_told(found, verdict, problem, force, self._machine_clock()))
        self._table.write(writes)
        return rogue

    def _stop(self, rogue: RogueJobRecord, verdict: _Verdict, now_ms: int) -> None:
        problem = verdict.protection
        try:
            if not problem:
                self._training_jobs.stop(rogue.training_job_name)
        except NothingToStop:
            # Its end will be seen as any other.
            return
        except LacksPermission:
            problem = verdict.forbidden
        name = rogue.training_job_name
        logger.info("a rogue job is asked to stop", extra={"rogue": name, "reason": verdict.stop, "problem": problem})
        changes = {"stop_sent_ms": now_ms, "stop_problem": problem, "reason": verdict.reason(problem)}
        self._table.write(transitions.update_rogue(rogue, **changes)[1])

    def _known(self, name: str) -> RogueJobRecord | None:
        return find_rogue_job(self._table, name)

    def _attempt(self, name: str) -> AttemptRecord | None:
        return find_attempt(self._table, name)


def is_stop_due(rogue: RogueJobRecord, now_ms: int) -> bool:
    """Whether a rogue job has to be stopped now.

    Not before its tags can be relied on: until SageMaker shows them, it seems to break rules on tags.

    Args:
        rogue: the record of the rogue training job.
    """
    tried_ms = rogue.stop_sent_ms
    waits = tried_ms is not None and now_ms < tried_ms + STOP_AGAIN_S * 1000
    return (
        rogue.stop and rogue.training_job_status == "InProgress" and not waits and is_proven(rogue.created_ms, now_ms)
    )


def _may_go_on(rogue: RogueJobRecord) -> bool:
    """Whether neither an operator, nor the queue before its table was restored, requested a training job's stop."""
    return rogue.training_job_status == "InProgress" and not rogue.stop_asked_by


def _is_gone(known: RogueJobRecord, found: Description | None, now_ms: int) -> bool:
    """Whether a rogue job is not there any more."""
    if found is None:
        return is_proven(known.created_ms, now_ms)
    return not found.live or found.created_ms != known.created_ms


def demand_of(description: Mapping[str, Any], pools: Collection[str]) -> dict[str, int]:
    """Instances per pool of a training job, by DescribeTrainingJob's answer.

    A serverless job counts as one. None while SageMaker has not yet picked one of the InstancePreferences (API
    reference, ResourceConfig).

    Args:
        description: the answer.
        pools: the pools that exist.
    """
    if is_serverless(description):
        return {SERVERLESS: 1}
    spot = bool(description.get("EnableManagedSpotTraining"))
    resources = description.get("ResourceConfig") or {}
    parts = [(resources.get("InstanceType"), resources.get("InstanceCount"))]
    if resources.get("InstanceGroups"):
        parts = [(each.get("InstanceType"), each.get("InstanceCount")) for each in resources["InstanceGroups"]]
    elif resources.get("InstancePreferences"):
        parts = [(resources.get("SelectedInstanceType"), resources.get("SelectedInstanceCount"))]
    plan = plan_of(plan_arn(description))
    return total({pool_of(kind, spot=spot, pools=pools, plan=plan): count} for kind, count in parts if kind and count)


def _judge(
    found: Description,
    tags: Mapping[str, str],
    configuration: Configuration,
    lost: Lost,
    known: RogueJobRecord | None,
) -> _Verdict:
    job = job_for_rules(found.document, tags, configuration)
    outside = lost.origin is Origin.OUTSIDE
    broken = violations(configuration.job_rules(), job) if outside else ()
    stop, protection = "", ""
    if known is not None and known.stop_asked_by:
        stop = f"{known.stop_asked_by} asked for it"
    elif lost.origin is Origin.GIVEN_UP:
        stop = "the queue has given up its launch"
    elif outside:
        stop = _stop_by_policy(configuration, broken)
        protection = _MARKED if JOB_TAG in tags else ""
    charges = configuration.rogues.charge or not outside
    pools = configuration.pools
    demand = demand_of(found.document, pools)
    return _Verdict(
        demand=demand,
        charged={pool: count for pool, count in demand.items() if charges and pool in pools},
        broken=tuple(f"{each.field} {each.message}" for each in broken),
        stop=stop,
        protection=protection,
        forbidden=_forbidden(tags, outside=outside),
        lost_job="" if outside else lost.job_name,
        team=job.team,
        marked=ATTEMPT_TAG in tags,
    )


def _forbidden(tags: Mapping[str, str], *, outside: bool) -> str:
    """Why the patrol has no permission to stop a training job (template.yaml, PatrolFunctionRole)."""
    if not outside:
        return _FORBIDDEN_OWN
    return _FORBIDDEN_OTHERS if JOB_TAG in tags else _FORBIDDEN_OUTSIDE


def _stop_by_policy(configuration: Configuration, broken: Sequence[Violation]) -> str:
    if configuration.rogues.action is OnStart.STOP:
        return "no training job may run past the queue"
    if any(each.on_start is OnStart.STOP for each in broken):
        return "it breaks rules that no training job may run against"
    return ""


def _told(
    found: Description, verdict: _Verdict, problem: str, force: EffectiveConfig, machine_ms: int
) -> dict[str, Any]:
    """The current record of a rogue job."""
    return {
        "training_job_status": found.status,
        "demand": dict(verdict.demand),
        "charged": dict(verdict.charged),
        "team": verdict.team,
        "marked": verdict.marked,
        "limit_ms": allocation_limit_ms(found.document, force.configuration),
        "seen_ms": machine_ms,
        "reason": verdict.reason(problem),
        "stop": bool(verdict.stop),
        "stop_problem": problem,
        "config_version": force.version,
    }
