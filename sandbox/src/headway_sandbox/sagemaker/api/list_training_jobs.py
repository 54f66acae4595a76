"""ListTrainingJobs: filters, order and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.api import tokens
from headway_sandbox.sagemaker.training_job import TrainingJob

_SORT_KEYS: Mapping[str, Callable[[TrainingJob], tuple[Any, ...]]] = {
    "CreationTime": lambda job: (job.created, job.name),
    "Name": lambda job: (job.name,),
    "Status": lambda job: (job.status, job.created, job.name),
}


def page(jobs: Iterable[TrainingJob], request: Mapping[str, Any], *, now: float) -> dict[str, Any]:
    """Return one page.

    `StatusEquals` filters the page after it was cut (model, StatusEquals and MaxResults), so a page can be short or
    empty and still have a NextToken. `WarmPoolStatusEquals` and `TrainingPlanArnEquals` do the same here; AWS does not
    document it.

    Args:
        jobs: All jobs.
        request: The ListTrainingJobs request.
        now: The time, s.

    Raises:
        AwsError: The token is invalid.
    """
    found = sorted(
        (job for job in jobs if _matches(job, request)),
        key=_SORT_KEYS[request.get("SortBy", "CreationTime")],  # model: the defaults
        reverse=request.get("SortOrder", "Ascending") == "Descending",
    )
    start = tokens.offset(request.get("NextToken"))
    end = start + int(request.get("MaxResults", service_facts.LIST_DEFAULT_RESULTS))
    summaries = [summary(job, now=now) for job in found[start:end]]
    answer: dict[str, Any] = {"TrainingJobSummaries": [each for each in summaries if _is_listed(each, request)]}
    if end < len(found):
        answer["NextToken"] = tokens.token(end)
    return answer


def summary(job: TrainingJob, *, now: float) -> dict[str, Any]:
    """Return a job's entry in ListTrainingJobs.

    Args:
        now: The time, s.
    """
    pool = job.warm_pool
    return {**job.summary(), **(pool.shown(now) if pool is not None else {})}


def _is_listed(entry: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    wanted = {
        "StatusEquals": entry["TrainingJobStatus"],
        "WarmPoolStatusEquals": entry.get("WarmPoolStatus", {}).get("Status"),
        "TrainingPlanArnEquals": entry.get("TrainingPlanArn"),
    }
    return all(name not in request or request[name] == value for name, value in wanted.items())


def _matches(job: TrainingJob, request: Mapping[str, Any]) -> bool:
    def between(moment: float, prefix: str) -> bool:
        after, before = request.get(f"{prefix}After"), request.get(f"{prefix}Before")
        return (after is None or moment > float(after)) and (before is None or moment < float(before))

    return (
        request.get("NameContains", "").lower() in job.name.lower()
        and between(job.created, "CreationTime")
        and between(job.modified, "LastModifiedTime")
    )
