"""The invariants of jobs that depend on others, checked on the raw items of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.violations import require

_Jobs = Mapping[str, Mapping[str, Any]]

_ENDS = frozenset({"completed", "failed", "stopped"})
_LIMITS = frozenset({"MaxRuntimeExceeded", "MaxWaitTimeExceeded"})
"""How SageMaker reports that a training job has reached its limit, or as a spot job the one that covers its waits."""


def awaited(job: Mapping[str, Any]) -> list[str]:
    """Return the jobs that a job waits for."""
    return [each["jobName"] for each in _dependencies(job) if "ended" not in each]


def check_dependencies(jobs: _Jobs) -> None:
    """Check that jobs start after the jobs that they depend on, and end without a start only for their ends.

    Args:
        jobs: the jobs, by name.

    Raises:
        Violated: an invariant does not hold.
    """
    for name, job in jobs.items():
        dependencies = _dependencies(job)
        for each in dependencies:
            other = jobs[each["jobName"]]
            if "liveAttempt" in job or job.get("attempts"):
                require(_is_met(each, other), f"{name} has started, but {_about(each, other)}")
            if "ended" in each:
                require(other["jobState"] in _ENDS, f"{name} no longer waits, but {_about(each, other)}")
            elif job["jobState"] not in _ENDS and other["jobState"] not in _ENDS:
                require(name in other["dependants"], f"{each['jobName']} does not know that {name} waits for it")
        if job["reason"]["code"] == "DependencyUnmet":
            unmet = any(
                jobs[each["jobName"]]["jobState"] in _ENDS and not _is_met(each, jobs[each["jobName"]])
                for each in dependencies
            )
            require(unmet, f"{name} was stopped, but it may still start")


def check_inputs(job: str, request: Mapping[str, Any]) -> None:
    """Check that the request of a job that has started has the outputs of others in place of templates.

    Args:
        request: its stored request.

    Raises:
        Violated: it has a template.
    """
    for channel in request.get("InputDataConfig", []):
        uri = channel["DataSource"]["S3DataSource"]["S3Uri"]
        require(not uri.startswith("{{"), f"{job} has started with {uri}")


def _dependencies(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = job.get("summary", {}).get("dependsOn", [])
    return found


def _is_met(dependency: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    state = job["jobState"]
    last = (job.get("attempts") or [{}])[-1]
    # A job that the policy stops may reach its limit meanwhile: the policy has stopped it.
    timed_out = last.get("secondaryStatus") in _LIMITS and bool(job["reason"]["code"] == "Stopped")
    match dependency.get("condition", "ok"):
        case "ok":
            return bool(state == "completed")
        case "any":
            return state in _ENDS
        case _:
            return state == "failed" or (state == "stopped" and timed_out)


def _about(dependency: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    condition = dependency.get("condition", "ok")
    return f"{dependency['jobName']} is {job['jobState']} and its condition is {condition}"
