"""How the configuration applies to a training job: its team, its time limit, and the rules that cover it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.jobpolicy.training_job import TrainingJob
from headway.jobpolicy.utilization import Coverage, Watched, coverage
from headway.pool_names import on_demand_pool
from headway.vectors import total
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.sagemaker_api.launch_request import on_demand
from headway_service.sagemaker_api.request_change import run_time_s
from headway_service.sagemaker_api.tags import PREEMPTIBLE_TAG, TEAM_TAGS
from headway_service.sagemaker_api.training_request import TrainingRequest, is_serverless

if TYPE_CHECKING:
    from headway_service.store.records.capacity.attempt import AttemptRecord


def charged_team(tags: Mapping[str, str], configuration: Configuration, default: str) -> str:
    """Return the configured team that a training job is charged to.

    Args:
        tags: the tags of the training job.
        configuration: names the teams.
        default: the team if the tags name none.

    Returns:
        The team; empty if it is not configured.
    """
    named = next((tags[key] for key in TEAM_TAGS if key in tags), default)
    return named if named in configuration.teams else ""


def job_for_rules(
    description: Mapping[str, Any],
    tags: Mapping[str, str],
    configuration: Configuration,
    default: str = DEFAULT_TEAM,
    checkpoints_of: tuple[str, ...] = (),
) -> TrainingJob:
    """Return a training job in the form that rules are evaluated on.

    Args:
        description: a CreateTrainingJob request, or the response of DescribeTrainingJob.
        tags: its tags, separately, as DescribeTrainingJob does not return them.
        configuration: names the teams.
        default: the team that it is charged to if its tags name none.
        checkpoints_of: the jobs in the queue that write their checkpoints where it does, in words.
    """
    return TrainingJob(
        description=description,
        tags=tags,
        team=charged_team(tags, configuration, default),
        preemptible=tags.get(PREEMPTIBLE_TAG) != "false",
        checkpoints_of=checkpoints_of,
    )


def pending_limit_s(request: Mapping[str, Any], configuration: Configuration) -> int | None:
    """Return how long an attempt of a job on on-demand instances may wait for them, in s; None for no limit.

    Args:
        request: the CreateTrainingJob request of the job. Its own MaxPendingTimeInSeconds counts if it is shorter.
        configuration: gives the limit of the policy.
    """
    most_s = configuration.max_pending_seconds
    if most_s is None or is_serverless(request):
        return None
    own_s = request.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds", most_s)
    return int(min(most_s, own_s))


def job_limit_ms(request: Mapping[str, Any], configuration: Configuration, *, left_spot: bool = False) -> int:
    """Return the longest time for which an attempt of a job can hold its instances, in ms.

    Args:
        request: the CreateTrainingJob request of the job.
        configuration: gives the limit of the policy on the wait for instances, and the overhead.
        left_spot: whether the attempt runs on on-demand instances although the request has spot instances.
    """
    launched = on_demand(request) if left_spot else request
    is_spot = launched.get("EnableManagedSpotTraining") is True
    pending_s = None if is_spot else pending_limit_s(launched, configuration)
    return allocation_limit_ms(launched, configuration, pending_s=pending_s)


def job_allowance_ms(request: Mapping[str, Any], configuration: Configuration) -> int:
    """Return what the limit of a job has beside its MaxRuntimeInSeconds, in ms.

    Args:
        request: the CreateTrainingJob request of the job, without spot instances.
        configuration: as for :func:`job_limit_ms`.
    """
    return job_limit_ms(request, configuration) - run_time_s(request) * 1000


def allocation_limit_ms(
    description: Mapping[str, Any], configuration: Configuration, *, pending_s: int | None = None
) -> int:
    """Return the longest time for which a training job can hold its instances, in ms.

    MaxRuntimeInSeconds counts from when SageMaker has the instances; for spot, MaxWaitTimeInSeconds includes the wait
    for them (API reference, StoppingCondition). The queue counts from the intent to launch, so the time that SageMaker
    may look for instances is added, and the overhead of provisioning, stopping and uploading.

    Args:
        description: a CreateTrainingJob request, or the response of DescribeTrainingJob.
        configuration: gives the overhead.
        pending_s: how long it may wait for instances by the policy, s; None for as long as it says itself.
    """
    stopping = description.get("StoppingCondition", {})
    limit_s = stopping.get("MaxWaitTimeInSeconds") or run_time_s(description)
    limit_s += stopping.get("MaxPendingTimeInSeconds", 0) if pending_s is None else pending_s
    return int(limit_s + configuration.overhead_seconds) * 1000


def fits_on_demand(demand: Mapping[str, int], team: str, configuration: Configuration) -> bool:
    """Return whether a spot job could ever have the on-demand instances in place of its spot instances.

    A job in the pools of on-demand instances has them already.

    Args:
        demand: its instances per pool.
        team: its team; empty for none.
        configuration: the configuration in effect.
    """
    moved = total({on_demand_pool(pool): count} for pool, count in demand.items())
    left = {on_demand_pool(pool) for pool in demand} - demand.keys()
    return all(moved[pool] <= configuration.most(pool, team) for pool in left)


def utilization_coverage(
    attempt: AttemptRecord, request: Mapping[str, Any], configuration: Configuration
) -> tuple[Coverage, ...]:
    """Return how the utilization rules in effect cover an attempt.

    Args:
        request: the CreateTrainingJob request of its job.
        configuration: the configuration in effect.
    """
    training = TrainingRequest.parse(request)
    job = job_for_rules(request, training.tags, configuration, attempt.team or DEFAULT_TEAM)
    # Which hosts an attempt has that an earlier version launched with InstancePreferences is not known.
    hosts = () if training.has_preferences else job.hosts()
    watched = Watched(attempt=attempt.attempt_name, hosts=hosts, job=job)
    return coverage(watched, configuration.active_watches())
