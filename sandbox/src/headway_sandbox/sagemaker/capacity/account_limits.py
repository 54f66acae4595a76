"""The account's quotas that are not of one instance type: the longest run time, and instances of all types together.

A rule of the debugger or the profiler runs as a processing job of one instance beside the training job, and
CreateTrainingJob refuses the whole request if "Number of instances across all processing jobs" has no room for its
rules (seen: issue data-science-on-aws/data-science-on-aws#200, "a request delta of 11 Instances" for a training job
with one instance).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.requested_instances import Choice
from headway_sandbox.sagemaker.training_job import TrainingJob


def exceeded(
    request: Mapping[str, Any],
    choice: Choice,
    in_use: Mapping[str, int],
    jobs: Sequence[TrainingJob],
    faults: Faults,
) -> AwsError | None:
    """Return the error for a request that exceeds one of the quotas; None if there is room.

    AWS does not document which one it names if several are exceeded.

    Args:
        request: A CreateTrainingJob request.
        choice: The instances that it asks for.
        in_use: The instances per type that count already, of its kind: managed spot training or not.
        jobs: All jobs that count.
        faults: The quotas.
    """
    for limit, counted, wanted in _demands(request, choice, in_use, jobs):
        size = faults.account_limits.get(limit)
        if size is not None and counted + wanted > size and wanted:
            unit = service_facts.QUOTA_UNITS[limit]
            return service_facts.quota_exceeded(limit=limit, size=size, in_use=counted, wanted=wanted, unit=unit)
    return None


def _demands(
    request: Mapping[str, Any], choice: Choice, in_use: Mapping[str, int], jobs: Iterable[TrainingJob]
) -> Iterator[tuple[str, int, int]]:
    """Per quota: what is in use, and what the request adds."""
    condition = request.get("StoppingCondition") or {}
    run_s = condition.get("MaxRuntimeInSeconds", service_facts.DEFAULT_MAX_RUNTIME_S)
    spot = bool(request.get("EnableManagedSpotTraining"))
    instances = sum(choice.instances.values())
    yield service_facts.LONGEST_RUN, 0, run_s
    yield service_facts.LARGEST_JOB, 0, instances
    across = service_facts.ALL_SPOT_TRAINING if spot else service_facts.ALL_TRAINING
    yield across, sum(in_use.values()), instances
    yield service_facts.ALL_PROCESSING, sum(_rules(job.request) for job in jobs), _rules(request)


def _rules(request: Mapping[str, Any]) -> int:
    return sum(len(request.get(kind) or []) for kind in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"))
