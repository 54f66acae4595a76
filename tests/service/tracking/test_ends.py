"""What the end of an attempt means for its job."""

from __future__ import annotations

from typing import Any

import pytest

from headway.jobpolicy.failure_kinds import FailureKind
from headway.lifecycle import JobTrigger
from headway.policy import Policy
from headway.reasons import ReasonCode
from headway_service.config.document import Configuration, validate
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.tracking.ends import LOSING, end_of, lost_ms
from tests.service.store.builders import NOW_MS, attempt, job
from tests.service.world import P5

MINUTE = 60_000
INTERNAL = "InternalServerError: We encountered an internal error."


def configuration() -> Configuration:
    return validate({"pools": {P5: {"size": 4}, f"{P5}.spot": {"size": 2}}, "spot": {"afterWait": True}})


def status(name: str = "Failed", secondary: str = "Failed", **more: Any) -> TrainingJobStatus:
    return TrainingJobStatus(attempt="a", status=name, secondary_status=secondary, modified_ms=1, **more)


@pytest.mark.parametrize(
    ("of", "seen", "trigger", "code", "retried"),
    [
        ({}, status("Completed", "Completed"), JobTrigger.COMPLETE, ReasonCode.COMPLETED, False),
        ({}, status("Stopped", "Stopped"), JobTrigger.END_STOPPED, ReasonCode.STOPPED_OUTSIDE, False),
        ({}, status("Stopped", "MaxRuntimeExceeded"), JobTrigger.END_STOPPED, ReasonCode.STOPPED, False),
        (
            {"stop_cause": StopCause.PREEMPTION, "freed_for": "b"},
            status("Stopped", "Stopped"),
            JobTrigger.PREEMPTED_ENDED,
            ReasonCode.RETURNED_TO_LINE,
            False,
        ),
        (
            {"stop_cause": StopCause.POLICY, "stop_reason": "x"},
            status(failure_reason="AlgorithmError: exit code 1"),
            JobTrigger.END_STOPPED,
            ReasonCode.STOPPED_BY_POLICY,
            False,
        ),
        ({"demand": {f"{P5}.spot": 1}}, status("Stopped", "MaxWaitTimeExceeded"), JobTrigger.RETRY, None, True),
        ({"demand": {f"{P5}.spot": 9}}, status("Stopped", "MaxWaitTimeExceeded"), JobTrigger.END_STOPPED, None, False),
        ({}, status(failure_reason=INTERNAL), JobTrigger.RETRY, None, True),
        ({}, status("Stopped", "Stopped", pending_expired_s=60), JobTrigger.RETRY, None, True),
        ({}, status("Stopped", "Stopped", pending_expired_s=60, provisioned=True), JobTrigger.RETRY, None, True),
    ],
)
def test_an_end_moves_the_job(
    of: dict[str, Any],
    seen: TrainingJobStatus,
    trigger: JobTrigger,
    code: ReasonCode | None,
    retried: bool,
) -> None:
    end = end_of(attempt(**of), seen, job(), list, configuration, NOW_MS)
    assert (end.trigger, end.retry is not None) == (trigger, retried)
    if code is not None:
        assert end.reason.code is code


def test_a_want_of_capacity_is_retried_as_such() -> None:
    end = end_of(attempt(), status("Stopped", "Stopped", pending_expired_s=60), job(), list, configuration, NOW_MS)
    assert end.retry is not None
    assert end.retry.kind is FailureKind.CAPACITY


def test_the_policy_and_the_plans_are_asked_only_where_they_matter() -> None:
    def unread() -> Configuration:
        raise AssertionError("the configuration is read")

    def unread_plans() -> list[PlanRecord]:
        raise AssertionError("the plans are read")

    end = end_of(attempt(), status("Completed", "Completed"), job(), unread_plans, unread, NOW_MS)
    assert end.trigger is JobTrigger.COMPLETE
    preempted = attempt(stop_cause=StopCause.PREEMPTION)
    end = end_of(preempted, status("Stopped", "Stopped"), job(), unread_plans, unread, NOW_MS)
    assert end.trigger is JobTrigger.PREEMPTED_ENDED


@pytest.mark.parametrize("trigger", sorted(set(JobTrigger)))
@pytest.mark.parametrize(
    ("of", "lost"),
    [
        (attempt(since_ms=NOW_MS - MINUTE), MINUTE),
        (attempt(since_ms=NOW_MS - MINUTE, checkpoints=True), MINUTE),
        (attempt(since_ms=NOW_MS - 60 * MINUTE, checkpoints=True), 10 * MINUTE),
        (attempt(since_ms=NOW_MS + 1), 0),
    ],
)
def test_a_job_that_runs_again_or_failed_has_lost_what_it_had_not_written(
    of: AttemptRecord, lost: int, trigger: JobTrigger
) -> None:
    policy = Policy(checkpoint_interval_ms=10 * MINUTE)
    assert lost_ms(of, trigger, lambda: policy, NOW_MS) == (lost if trigger in LOSING else 0)
