"""The invariants of jobs that are answered by equal ones, checked on the raw items of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway_verification.soak.violations import require

_Jobs = Mapping[str, Mapping[str, Any]]

_ENDS = frozenset({"completed", "failed", "stopped"})
_CLOCKS_MS = 5000
"""More than the clocks of two functions differ by."""

_OWN = ("TrainingJobName", "Tags", "StoppingCondition", "EnableManagedSpotTraining")
"""Members in which equal jobs may differ."""

_OWN_RESOURCES = ("KeepAlivePeriodInSeconds", "TrainingPlanArn")


def reused_from(job: Mapping[str, Any]) -> str:
    """Return the job whose outputs a job has; empty for none."""
    return str(_reuse(job).get("jobName", ""))


def check_reuse(jobs: _Jobs, request_of: Callable[[str], Mapping[str, Any]], input_writes: Sequence[int]) -> None:
    """Check that a job has the outputs of a job that has completed the same, and that no two compute the same at once.

    Args:
        jobs: the jobs, by name.
        request_of: the stored request of a job.
        input_writes: when the input of jobs with reuse was written, ms.

    Raises:
        Violated: an invariant does not hold.
    """
    computing: dict[str, str] = {}
    for name, job in jobs.items():
        source = reused_from(job)
        if source:
            other = jobs[source]
            require(job["jobState"] == "completed", f"{name} has the outputs of {source}, but is {job['jobState']}")
            require(not job.get("attempts"), f"{name} has the outputs of {source}, and an attempt")
            require(other["jobState"] == "completed", f"{name} has the outputs of {source}, which has not completed")
            require(not reused_from(other), f"{name} has the outputs of {source}, which has none of its own")
            require(job.get("team") == other.get("team"), f"{name} has the outputs of {source}, a job of another team")
            require(
                _reuse(job)["attemptName"] == other["attempts"][-1]["attemptName"],
                f"{name} has the outputs of another attempt than the last of {source}",
            )
            began_ms, ended_ms = other["entryTime"] + _CLOCKS_MS, other["summary"]["endedMs"] - _CLOCKS_MS
            during = any(began_ms < written_ms < ended_ms for written_ms in input_writes)
            require(not during, f"{name} has the outputs of {source}, whose input was written while it ran")
            one, two = (_compared(request_of(each)) for each in (name, source))
            require(one == two, f"{name} has the outputs of {source}, which computes something else")
        elif job["jobState"] not in _ENDS and (key := _reuse(job).get("key")):
            require(key not in computing, f"{name} and {computing.get(key)} compute the same")
            computing[key] = name


def _reuse(job: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = job.get("summary", {}).get("reuse", {})
    return found


def _compared(request: Mapping[str, Any]) -> dict[str, Any]:
    kept = {member: value for member, value in request.items() if member not in _OWN}
    resources = kept.get("ResourceConfig", {})
    return {**kept, "ResourceConfig": {k: v for k, v in resources.items() if k not in _OWN_RESOURCES}}
