"""What SageMaker says of training jobs, and how the queue reads it."""

from __future__ import annotations

from headway.jobpolicy.failure_kinds import FailureKind, failure_kind
from headway.refusals import Cause
from headway_service.aws.error_codes import DENIALS
from headway_service.errors import (
    LacksPermission,
    LaunchPostponed,
    LaunchRefused,
    NameTaken,
    TrainingJobEnded,
    TrainingJobNotFound,
)
from headway_service.sagemaker_api.quota_text import parse_quota
from headway_verification.acceptance import reading
from headway_verification.acceptance.evidence import Answer, QuotaUse, Runs, WarmPool
from headway_verification.acceptance.verdict import Finding, decided, is_false, unchecked

NOT_YET_TRAINING = ("Starting", "Pending", "LaunchingMLInstances", "PreparingTrainingStack")


def name_in_use(answer: Answer) -> Finding:
    """Whether the queue recognizes a name that exists, so that a launch is not made twice."""
    return _denied(answer) or decided(str(answer), true=isinstance(reading.read(reading.create, answer), NameTaken))


def stop_of_ended(answer: Answer) -> Finding:
    """Whether the queue recognizes that there is nothing to stop any more."""
    return _denied(answer) or decided(str(answer), true=answer.is_accepted or _is(answer, TrainingJobEnded))


def stop_of_stopping(runs: Runs) -> Finding:
    """Whether a second stop does no harm."""
    stop = runs.stopped.stop
    if stop is None or stop.repeated is None:
        return unchecked("the training job was never seen Stopping: run it again")
    answer = stop.repeated
    said = f"StopTrainingJob of a Stopping job: {answer}"
    return _denied(answer) or decided(said, true=answer.is_accepted or _is(answer, TrainingJobEnded))


def stop_of_unknown(answer: Answer) -> Finding:
    """Whether the queue recognizes a training job that does not exist."""
    return _denied(answer) or decided(str(answer), true=_is(answer, TrainingJobNotFound))


def _denied(answer: Answer) -> Finding | None:
    """Return that an answer shows nothing, as the caller of the run may not ask; None if it does."""
    return unchecked(f"the caller of this run may not ask: {answer}") if answer.code in DENIALS else None


def _is(answer: Answer, kind: type[Exception]) -> bool:
    return isinstance(reading.read(reading.stop, answer), kind)


def denied_create(answer: Answer) -> Finding:
    """Whether the queue takes a denial for something that an operator mends, and keeps the job."""
    if answer.is_accepted:
        return is_false("a role without a policy created a training job")
    found = reading.read(reading.create, answer)
    return decided(str(answer), true=isinstance(found, LaunchPostponed) and found.cause is Cause.DENIED)


def denied_role(answer: Answer) -> Finding:
    """Whether the queue recognizes that the job's role may not be passed, which concerns that job alone."""
    if answer.is_accepted:
        return is_false("a role without iam:PassRole passed one")
    found = reading.read(reading.create, answer)
    if isinstance(found, LaunchPostponed) and found.cause is Cause.DENIED and "CreateTrainingJob" in answer.message:
        return unchecked(f"the temporary policy was not in force in time: {answer}")
    return decided(str(answer), true=isinstance(found, LaunchRefused) and "iam:PassRole" in answer.message)


def denied_stop(answer: Answer) -> Finding:
    """Whether the queue recognizes that it may not stop a training job."""
    if answer.is_accepted:
        return is_false("a role without a policy stopped a training job")
    return decided(str(answer), true=_is(answer, LacksPermission))


def over_quota(answer: Answer) -> Finding:
    """Whether the queue recognizes a quota, and reads its name and numbers."""
    found = reading.read(reading.create, answer)
    if not isinstance(found, LaunchPostponed) or found.cause is not Cause.QUOTA:
        return unchecked(f"SageMaker refused the request for another reason before it looked at the quota: {answer}")
    return decided(str(answer), true=parse_quota(answer.message) is not None)


def quota_after_stop(use: QuotaUse) -> Finding:
    """Whether jobs start at a full quota right after others have ended, if need be after the queue's back-off."""
    shown = "is not shown" if use.quota is None else f"is {use.quota:g}"
    said = f"the quota {use.name} {shown}, the pool has {use.pool_size}"
    if use.quota is None or use.quota > use.pool_size:
        return unchecked(f"{said}: nothing was started at a full quota")
    said += f"; launches postponed: {len(use.postponed)} {'; '.join(use.postponed)}".rstrip()
    if use.unlaunched and not use.postponed:
        return unchecked(f"{said}; never launched, for another reason: {', '.join(use.unlaunched)}")
    return decided(f"{said}; never launched: {', '.join(use.unlaunched) or 'none'}", true=not use.unlaunched)


def stop_before_training(runs: Runs) -> Finding:
    """Whether a stop before the training ends as Stopped, and the queue frees the instances."""
    run = runs.stopped
    if run.stop is None or run.stop.secondary_status not in NOT_YET_TRAINING:
        return unchecked("the training job trained before it could be stopped: run it again")
    status, last = run.described.get("TrainingJobStatus"), run.described.get("SecondaryStatus")
    ended = f"{status}/{last} after {run.stop.took_s:.0f} s"
    said = f"stopped while {run.stop.secondary_status}: {ended}; the job is {run.state}"
    return decided(said, true=status == "Stopped" and run.state == "stopped")


def failure_reason(runs: Runs) -> Finding:
    """Whether the queue recognizes a failure of the user's own code, which it does not repeat."""
    run = runs.fails
    if not run.attempt:
        return unchecked(f"no training job was launched: {'; '.join(run.reasons)}")
    reason = run.described.get("FailureReason")
    kind = failure_kind(run.described.get("SecondaryStatus", ""), reason)
    return decided(f"FailureReason {reason!r} is of kind {kind}", true=kind is FailureKind.CODE)


def warm_pool_released(pool: WarmPool) -> Finding:
    """Whether a keep-alive period of 0 releases an available warm pool."""
    said = f"{pool.before}; UpdateTrainingJob: {pool.release}; then {pool.after} after {pool.took_s:.0f} s"
    if pool.before != "Available":
        return unchecked(f"{said}: the training job left no available warm pool")
    released = reading.read(reading.release, pool.release) is None and pool.after == "Terminated"
    return decided(said, true=released)
