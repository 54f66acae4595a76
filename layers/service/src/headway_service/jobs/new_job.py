"""Makes the job of an admitted request. Pure."""

from __future__ import annotations

from dataclasses import replace

from headway.lifecycle import JobState
from headway.policy import Policy
from headway.prediction.run_times import Prediction
from headway.reasons import array_entered, entered, entered_after, entered_until, with_shared_checkpoints
from headway.scheduling.standing import standing_on_entry
from headway_service.admission.admitted import Admitted
from headway_service.admission.arrays import AdmittedArray
from headway_service.store.records.array import ArrayRecord, EarlyStoppingRecord, MembersRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.job import JobRecord, PredictedRun, Step
from headway_service.store.records.terms import attributes_of


def new_job(
    admitted: Admitted,
    policy: Policy,
    *,
    owner: str,
    key: str | None,
    now_ms: int,
    prediction: Prediction | None = None,
    depends_on: tuple[DependencyRecord, ...] = (),
    checkpoints_of: tuple[str, ...] = (),
) -> JobRecord:
    """The job that an admitted request becomes.

    Args:
        admitted: the request.
        policy: the policy in effect.
        owner: ARN of the caller.
        key: the idempotency key of the call, if it has one.
        now_ms: its entry time.
        prediction: how long it is predicted to run; None if that is not predicted, or not compared.
        depends_on: its dependencies, each with the end of the job if it has ended.
        checkpoints_of: the jobs in the queue that write their checkpoints where it does, in words.
    """
    terms = admitted.terms
    awaited = [(each.job_name, each.condition) for each in depends_on if each.ended is None]
    others = [each.demand for each in admitted.choices[1:]]
    array = admitted.array
    begin_ms = admitted.not_before_ms
    if begin_ms is not None and begin_ms <= now_ms:
        begin_ms = None
    entry = (
        entered_until(admitted.demand, begin_ms, awaited, now_ms)
        if begin_ms is not None
        else array_entered(array.count, admitted.demand)
        if array is not None and not awaited
        else entered_after(admitted.demand, awaited)
        if awaited
        else entered(admitted.demand, warm_pool=admitted.warm_pool, others=others)
    )
    reason = ReasonRecord.of(with_shared_checkpoints(entry, checkpoints_of) if checkpoints_of else entry)
    standing = standing_on_entry(
        terms.limit_ms,
        admitted.demand,
        policy,
        predicted_ms=None if prediction is None else prediction.expected_ms,
    )
    return JobRecord(
        job_name=admitted.name,
        job_state=JobState.PENDING,
        **attributes_of(replace(terms, entry_time_ms=now_ms, standing=standing)),
        predicted=predicted_run(prediction),
        demand=dict(admitted.demand),
        max_run_s=admitted.max_run_s,
        on_demand_limit_ms=admitted.on_demand_limit_ms,
        pending_limit_s=admitted.pending_limit_s,
        choices=admitted.choices,
        wait_at_most_s=admitted.wait_at_most_s,
        portable_checkpoint=admitted.portable_checkpoint,
        depends_on=depends_on,
        begin_ms=begin_ms,
        start_by_ms=admitted.start_by_ms,
        max_wait_s=admitted.max_wait_s,
        array=_array(array) if array else None,
        members=MembersRecord() if array else None,
        reuse=admitted.reuse,
        owner=owner,
        request_digest=admitted.digest,
        idempotency_key=key,
        reason=reason,
        history=(Step(time_ms=now_ms, job_state=JobState.PENDING, reason=reason),),
    )


def predicted_run(prediction: Prediction | None) -> PredictedRun | None:
    """What is kept of the prediction that a job is compared by."""
    return None if prediction is None else PredictedRun(run_ms=prediction.expected_ms, runs=prediction.runs)


def _array(array: AdmittedArray) -> ArrayRecord:
    early = EarlyStoppingRecord.of(array.early_stopping) if array.early_stopping else None
    return ArrayRecord(count=array.count, at_once=array.at_once, max_failures=array.max_failures, early_stopping=early)
