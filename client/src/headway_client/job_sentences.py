"""Sentences about the state of a job."""

from __future__ import annotations

from headway_client.models import Job

_ENDS = {"failed": "has failed", "stopped": "was stopped"}


def job_sentence(job: Job) -> str:
    """Return one line about the state of a job, with its priority and its place while it has not ended."""
    if job.has_ended:
        return end_sentence(job)
    place = f", place {job.place} in the queue" if job.place is not None else ""
    return f"{job.name} is {job.state} (priority {job.priority}{place}): {job.reason.message}"


def end_sentence(job: Job, why: str | None = None) -> str:
    """Return one line about the end of a job.

    Args:
        job: the job, which has ended.
        why: the reason; by default the job's own.
    """
    if job.state == "completed":
        reused = f", with the outputs of {job.reused_from}" if job.reused_from is not None else ""
        return f"{job.name} has completed{reused}"
    return _once(f"{job.name} {_ENDS[job.state]}", job.state, job.reason.message if why is None else why)


def progress_sentence(job: Job) -> str:
    """Return a one-line progress message for a job that has not ended, or its end."""
    place = f", place {job.place} in the queue" if job.place is not None else ""
    why = job.reason.message
    if job.has_ended:
        return end_sentence(job)
    match job.state:
        case "pending" | "preempted" if job.held:
            return _once(f"{job.name} is held", "held", why)
        case "pending":
            return f"{job.name} waits{place}: {why}"
        case "preempted":
            return f"{job.name} is preempted and waits for its next turn{place}: {why}"
        case "running" if job.live_attempt is not None:
            return f"{job.name} runs as {job.live_attempt}: {why}"
        case _:
            return f"{job.name} is {job.state}: {why}"


def _once(statement: str, state: str, why: str) -> str:
    """Return a statement with its reason, which may begin with the same word, such as ``failed: out of memory``."""
    rest = why.removeprefix(state)
    repeats = rest != why and rest[:1] in {"", " ", ":"}
    return statement + (rest if repeats else f": {why}")
