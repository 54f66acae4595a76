"""What must hold of the times of jobs: none starts before one, or fails for another that it has kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from headway_service.sagemaker_api.tags import NOT_BEFORE_TAG
from headway_verification.soak.violations import require


def is_before_its_time(job: Mapping[str, Any]) -> bool:
    """Whether a time keeps a job out of its queues."""
    return "beginMs" in job.get("summary", {})


def check_times(
    jobs: Mapping[str, Mapping[str, Any]], request_of: Callable[[str], Mapping[str, Any]], now_ms: int
) -> None:
    """Check the times of all jobs.

    Args:
        jobs: the jobs, by name.
        request_of: reads the stored request of a job.
        now_ms: the virtual time, ms.

    Raises:
        Violated: an invariant does not hold.
    """
    for name, job in jobs.items():
        started_ms = job.get("summary", {}).get("startedMs")
        if started_ms is not None and "array" not in job:
            begin_ms = _not_before_ms(request_of(name))
            require(begin_ms <= started_ms, f"{name} has started before its time")
        if job["reason"]["code"] == "Expired":
            require(job["jobState"] == "failed", f"{name} is {job['jobState']}, but it has not started in time")
            require(started_ms is None, f"{name} has started, and has failed as it has not")
            latest = [job["startByMs"]] if "startByMs" in job else []
            latest += [job["entryTime"] + job["maxWaitS"] * 1000] if "maxWaitS" in job else []
            require(bool(latest) and min(latest) <= now_ms, f"{name} may still start")


def _not_before_ms(request: Mapping[str, Any]) -> int:
    tags = {each["Key"]: each["Value"] for each in request.get("Tags", [])}
    value = tags.get(NOT_BEFORE_TAG)
    return 0 if value is None else int(datetime.fromisoformat(value).timestamp() * 1000)
