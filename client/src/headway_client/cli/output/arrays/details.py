"""Format an array among other jobs, and a member of one."""

from __future__ import annotations

from headway_client import job_sentences as sentences
from headway_client.models import ArrayProgress, Job, JobDetails, MedianStopping


def ended_members(progress: ArrayProgress) -> int:
    """Return how many members of an array have ended."""
    return progress.completed + progress.failed + progress.stopped


def array_lines(details: JobDetails) -> list[tuple[str, str]]:
    """Return the lines about arrays in the details of a job; none for a job that has to do with none."""
    lines = _progress(details.job)
    if details.member_of is not None:
        index = "" if details.index is None else f", member {details.index}"
        lines.append(("Array", f"{details.member_of}{index}"))
    if details.parameters:
        lines.append(("Values", ", ".join(f"{name}={value}" for name, value in details.parameters.items())))
    if details.metrics:
        lines.append(("Metrics", ", ".join(f"{name}={value:g}" for name, value in details.metrics.items())))
    return lines


def _early_stopping(settings: MedianStopping) -> str:
    if settings.step_metric is not None:
        since = f"{settings.step_metric} {settings.min_steps}"
    else:
        since = f"{settings.min_training_seconds} s of training"
    better = "greater" if settings.goal == "minimize" else "less"
    return (
        f"a member whose {settings.metric} is {better} than the median of {settings.min_members} or more others, "
        f"from {since} on"
    )


def _progress(job: Job) -> list[tuple[str, str]]:
    if job.array is None:
        return []
    lines = [("Members", f"{job.array.count}: {sentences.array_sentence(job.array)}")]
    if job.array.at_once is not None:
        lines.append(("At Once", f"up to {job.array.at_once}"))
    if job.array.max_failures is not None:
        lines.append(("Failures", f"no member starts after more than {job.array.max_failures}"))
    if job.array.early_stopping is not None:
        lines.append(("Early End", _early_stopping(job.array.early_stopping)))
    return lines
