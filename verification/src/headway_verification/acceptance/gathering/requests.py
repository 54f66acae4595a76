"""The requests of the training jobs of a run: one instance, minutes at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary

BUSY_S, SHORT_S = 180, 60
MAX_RUN_S = 300
"""After which SageMaker ends each of them, whatever becomes of this run."""

KEEP_S = 600
"""For how long a warm pool is kept unless it is released."""

FAILURE_CODE = 3
_MISSING_IMAGE = "headway-accept-has-no-such-image"


def training_job(
    target: Target, temporary: Temporary, what: str, *, script: str, run_s: int, outcome: str = "complete", **more: Any
) -> dict[str, Any]:
    """Return a CreateTrainingJob request.

    Args:
        temporary: names it.
        what: it is for, in a word.
        script: a shell script.
        run_s: how long the script takes, for a sandbox, which does not run it.
        outcome: how it ends there.
        more: further members.
    """
    emulated = {
        "SANDBOX_RUN_SECONDS": str(run_s),
        "SANDBOX_OUTCOME": outcome,
        "SANDBOX_CPU_UTILIZATION": f"0:{95 * max(1, target.vcpus)}",
    }
    return {
        "TrainingJobName": temporary.name(what),
        "RoleArn": target.role,
        "AlgorithmSpecification": {
            "TrainingImage": target.image,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["/bin/sh", "-c"],
            "ContainerArguments": [script],
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{target.bucket}/headway-accept/"},
        "ResourceConfig": {"InstanceType": target.instance_type, "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": MAX_RUN_S},
        "Tags": temporary.tags,
        **({"Environment": emulated} if target.is_sandbox else {}),
        **more,
    }


def works(target: Target, temporary: Temporary) -> dict[str, Any]:
    """Return a job that keeps all cores busy for three minutes, so that CloudWatch has figures of whole minutes."""
    cores = max(1, target.vcpus)
    script = f"for core in $(seq {cores}); do timeout {BUSY_S} sh -c 'while :; do :; done' & done; wait; exit 0"
    return training_job(target, temporary, "works", script=script, run_s=BUSY_S)


def is_stopped(target: Target, temporary: Temporary) -> dict[str, Any]:
    """Return a job that is stopped before it trains."""
    return training_job(target, temporary, "stopped", script=f"sleep {SHORT_S}", run_s=SHORT_S)


def fails(target: Target, temporary: Temporary) -> dict[str, Any]:
    """Return a job whose script fails."""
    outcome = f"AlgorithmError: , exit code: {FAILURE_CODE}"
    return training_job(target, temporary, "fails", script=f"exit {FAILURE_CODE}", run_s=1, outcome=outcome)


def keeps_warm(target: Target, temporary: Temporary, *, what: str) -> dict[str, Any]:
    """Return a job that leaves a warm pool.

    Args:
        what: it is for, in a word.
    """
    request = training_job(target, temporary, what, script="exit 0", run_s=1)
    return {**request, "ResourceConfig": {**request["ResourceConfig"], "KeepAlivePeriodInSeconds": KEEP_S}}


def may_create(target: Target) -> dict[str, Any]:
    """Return a statement that allows the creation of this queue's temporary training jobs, but to pass no role."""
    return {
        "Effect": "Allow",
        "Action": ["sagemaker:CreateTrainingJob", "sagemaker:AddTags"],
        "Resource": target.training_job_arn(f"{target.prefix}*"),
    }


def cannot_start(target: Target, temporary: Temporary, instance_type: str) -> dict[str, Any]:
    """Return a request for a type that has no quota, which could not run either if the quota let it pass.

    Its image does not exist.
    """
    registry = target.image.partition("/")[0]
    request = training_job(target, temporary, "quota", script="exit 0", run_s=1)
    request["AlgorithmSpecification"] = {
        **request["AlgorithmSpecification"],
        "TrainingImage": f"{registry}/{_MISSING_IMAGE}:none",
    }
    resources: Mapping[str, Any] = {**request["ResourceConfig"], "InstanceType": instance_type}
    return {**request, "ResourceConfig": resources}
