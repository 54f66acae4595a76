"""Format an array among other jobs, and a member of one."""

from __future__ import annotations

from headway_client import job_sentences as sentences
from headway_client.models import ArrayProgress, Job, JobDetails


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


def _progress(job: Job) -> list[tuple[str, str]]:
    if job.array is None:
        return []
    lines = [("Members", f"{job.array.count}: {sentences.array_sentence(job.array)}")]
    if job.array.at_once is not None:
        lines.append(("At Once", f"up to {job.array.at_once}"))
    if job.array.max_failures is not None:
        lines.append(("Failures", f"no member starts after more than {job.array.max_failures}"))
    return lines
