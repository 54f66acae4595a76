"""Evidence for the checks: what AWS answers if the assumptions are true."""

from __future__ import annotations

from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_verification.acceptance.checks import callers as asked
from headway_verification.acceptance.evidence import (
    AlarmSent,
    Answer,
    Callers,
    ColdStarts,
    DeletedStack,
    Deployment,
    Events,
    Evidence,
    Figures,
    Invocations,
    Missing,
    Permissions,
    QueueMetrics,
    QuotaUse,
    Run,
    Runs,
    Stop,
    WarmPool,
)

ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/a"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/a"
STATUSES = ("Starting", "Pending", "Downloading", "Training", "Uploading", "Completed")
DENIED = (
    "User: arn:aws:sts::123456789012:assumed-role/r/s is not authorized to perform: {} on resource: x because no "
    "identity-based policy allows the {} action"
)


def answer(error: AwsError) -> Answer:
    return Answer(status=error.status, code=error.code, message=error.message)


def denied(action: str) -> Answer:
    return Answer(status=400, code="AccessDeniedException", message=DENIED.format(action, action))


def event(status: str, **changes: Any) -> dict[str, Any]:
    """The detail of an event."""
    detail = {
        "TrainingJobName": "a",
        "TrainingJobArn": ARN,
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": status,
        "CreationTime": 1_800_000_000_000,
        "LastModifiedTime": "1800000001000",
        "Tags": {},
    }
    return {name: value for name, value in {**detail, **changes}.items() if value is not None}


def run(name: str, **changes: Any) -> Run:
    described = {
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "SecondaryStatusTransitions": [{"Status": each} for each in STATUSES],
    }
    fields: dict[str, Any] = {
        "job": name,
        "state": "completed",
        "reasons": ("Started: runs",),
        "attempt": name,
        "described": described,
        "tags": {"headway:attempt": "table/a"},
    }
    return Run(**{**fields, **changes})


def runs(**changes: Any) -> Runs:
    stop = Stop(secondary_status="Pending", repeated=answer(service_facts.not_stoppable("Stopping")), took_s=60)
    failed = {
        "TrainingJobStatus": "Failed",
        "SecondaryStatus": "Failed",
        "FailureReason": "AlgorithmError: , exit code: 3",
    }
    stopped = {"TrainingJobStatus": "Stopped", "SecondaryStatus": "Stopped"}
    fields: dict[str, Any] = {
        "works": run("a"),
        "stopped": run("b", state="stopped", described=stopped, stop=stop),
        "fails": run("c", state="failed", described=failed),
        "table": "table",
        "pool_size": 1,
    }
    return Runs(**{**fields, **changes})


def permissions(**changes: str) -> Permissions:
    """Decisions, with changes by the names of the questions in `headway_verification.acceptance.checks.callers`."""
    allowed = (asked.CREATE_MARKED, asked.TAG_AT_CREATION, asked.STOP_MARKED, asked.RELEASE_MARKED)
    refused = (asked.CREATE_UNMARKED, asked.TAG_LATER, asked.STOP_UNMARKED, asked.CHANGE_MARKED)
    decisions = {**dict.fromkeys(allowed, "allowed"), **dict.fromkeys(refused, "implicitDeny")}
    return Permissions(decisions={**decisions, **{getattr(asked, name): value for name, value in changes.items()}})


def deployment(**changes: Any) -> Deployment:
    policy = {"Fn::If": ["KeepsTable", "Retain", "Delete"]}
    fields: dict[str, Any] = {
        "status": "CREATE_COMPLETE",
        "parameters": {"KmsKeyArn": KEY},
        "template": {"Resources": {"JobsTable": {"DeletionPolicy": policy}}},
        "log_formats": {"Api": "JSON"},
        "keys": {"table": KEY, "WakeQueue": KEY},
    }
    return Deployment(**{**fields, **changes})


def callers(**changes: Any) -> Callers:
    fields: dict[str, Any] = {
        "stranger": Answer(status=403, message="not authorized"),
        "user": Answer(),
        "waited_s": 9.0,
        "caller_arns": "*",
    }
    return Callers(**{**fields, **changes})


def figures(**changes: Any) -> Figures:
    fields: dict[str, Any] = {
        "dimensions": ({"Host": "a/algo-1"},),
        "values": {"CPUUtilization": (90.0, 196.0), "MemoryUtilization": (12.0,)},
        "vcpus": 2,
        "delay_s": 60.0,
    }
    return Figures(**{**fields, **changes})


def alarm(**changes: Any) -> AlarmSent:
    fields: dict[str, Any] = {"actions": ("Successfully executed action x",), "heard": True, "log_level": "INFO"}
    return AlarmSent(**{**fields, **changes})


def quota_use(**changes: Any) -> QuotaUse:
    fields: dict[str, Any] = {
        "name": "ml.m5.large for training job usage",
        "quota": 1.0,
        "pool_size": 1,
        "postponed": (),
        "unlaunched": (),
    }
    return QuotaUse(**{**fields, **changes})


def warm_pool(**changes: Any) -> WarmPool:
    fields: dict[str, Any] = {"before": "Available", "release": Answer(), "after": "Terminated", "took_s": 20.0}
    return WarmPool(**{**fields, **changes})


def events(*details: Any, **changes: Any) -> Events:
    fields: dict[str, Any] = {
        "details": details or tuple(event(each) for each in STATUSES),
        "statuses": {"a": STATUSES},
    }
    return Events(**{**fields, **changes})


QUOTA = answer(service_facts.quota_exceeded(limit="ml.c5.xlarge for training job usage", size=0, in_use=0, wanted=1))


def evidence(**changes: Any) -> Evidence:
    """All evidence, as if every assumption were true."""
    fields: dict[str, Any] = {
        "deployment": deployment(),
        "deleted_stack": DeletedStack(kept=True, deleted=True),
        "callers": callers(),
        "permissions": permissions(),
        "runs": runs(),
        "name_in_use": answer(service_facts.name_in_use(ARN)),
        "stop_of_ended": answer(service_facts.not_stoppable("Completed")),
        "stop_of_unknown": answer(service_facts.not_found()),
        "denied_create": denied("sagemaker:CreateTrainingJob"),
        "denied_stop": denied("sagemaker:StopTrainingJob"),
        "denied_role": denied("iam:PassRole"),
        "over_quota": QUOTA,
        "events": events(),
        "figures": figures(),
        "alarm": alarm(),
        "metrics": QueueMetrics(values={"Measured": 3}),
        "cold_starts": ColdStarts(init_ms={"Api": (900.0, 2100.0), "Watch": ()}, in_vpc=True),
        "invocations": Invocations(counts={"Api": (3.0, 0.0), "Tell": (9.0, 1.0)}),
        "quota_use": quota_use(),
        "warm_pool": warm_pool(),
    }
    return Evidence(**{**fields, **changes})


def nothing() -> Evidence:
    """No evidence at all."""
    return Evidence(**dict.fromkeys(vars(evidence()), Missing(why="AWS did not answer")))
