"""Sentences about the state of a job."""

from __future__ import annotations

from collections.abc import Mapping

from headway.reasons.short import short_form
from headway_client.models import ArrayProgress, Job, JobDetails, Reason

_ENDS = {"failed": "has failed", "stopped": "was stopped"}


def job_sentence(job: Job) -> str:
    """Return one line about the state of a job, with its priority and its place while it has not ended."""
    if job.has_ended:
        return end_sentence(job)
    place = f", place {job.place} in the queue" if job.place is not None else ""
    return f"{job.name} is {job.state} (priority {job.priority}{place}): {why(job)}"


def end_sentence(job: Job, reason: str | None = None) -> str:
    """Return one line about the end of a job.

    Args:
        job: the job, which has ended.
        reason: the reason; by default the job's own.
    """
    if job.state == "completed":
        reused = f", with the outputs of {job.reused_from}" if job.reused_from is not None else ""
        return f"{job.name} has completed{reused}"
    return _once(f"{job.name} {_ENDS[job.state]}", job.state, why(job) if reason is None else reason)


def unfinished_sentence(*names: str) -> str:
    """Return one line about jobs that are waited for no longer, one or more."""
    listed = " ".join(names)
    if len(names) == 1:
        stay, them = f"{listed} stays in the queue", "it"
    else:
        # Some may have ended while another one was waited for.
        stay, them = f"{len(names)} jobs stay in the queue until they end", "them"
    return f"{stay}; `headway wait {listed}` waits again, `headway stop {listed}` stops {them}"


def cost_sentence(job: JobDetails) -> str | None:
    """Return the cost of a job's ended attempts with what it leaves out; None if it has none."""
    if job.cost is None:
        return None
    return f"{job.cost:.2f} {job.currency} for ended attempts{_left_out(job.unpriced_seconds)}"


def estimate_sentence(job: JobDetails) -> str | None:
    """Return about what a job's spot instances cost that are not in its cost; None if that is not known."""
    if not job.estimated_cost:
        return None
    return f"about {job.estimated_cost:.2f} {job.currency} more for spot instances without a bill yet, by spotPerHour"


def lost_sentence(job: JobDetails) -> str | None:
    """Return what a job's ended attempts have lost, with its part of the cost; None if they have lost nothing."""
    if not job.lost_seconds:
        return None
    hours = f"{job.lost_seconds / 3600:.2f} instance hours"
    if job.lost_cost is None:
        pools = ", ".join(sorted(job.lost_unpriced_seconds))
        return f"{hours} (no price set for {pools})" if pools else hours
    return f"{hours}, {job.lost_cost:.2f} {job.currency} of the cost{_left_out(job.lost_unpriced_seconds)}"


def saved_sentence(job: JobDetails) -> str | None:
    """Return what spot instances have saved a job's ended attempts; None if that is nothing, or not known."""
    saved = sum(job.saved_seconds.values())
    if not saved:
        return None
    part = saved / (saved + sum(job.billed_seconds.get(pool, 0) for pool in job.saved_seconds))
    what = f"{saved / 3600:.2f} instance hours" if job.saved_cost is None else f"{job.saved_cost:.2f} {job.currency}"
    return f"{what} by spot instances, {part:.0%} of their time"


def _left_out(unpriced_seconds: Mapping[str, int]) -> str:
    hours = sum(unpriced_seconds.values()) / 3600
    return f", without {hours:.2f} instance hours of unknown price" if unpriced_seconds else ""


def price_sentences(job: JobDetails) -> list[str]:
    """Return a line for each price that a job's cost was computed with, and its date."""
    return [f"{price.pool}: {price.per_hour:g} {job.currency} an hour from {price.first}" for price in job.prices]


def progress_sentence(job: Job) -> str:
    """Return a one-line progress message for a job that has not ended, or its end."""
    place = f", place {job.place} in the queue" if job.place is not None else ""
    told = why(job)
    if job.has_ended:
        return end_sentence(job)
    match job.state:
        case "pending" | "preempted" if job.held:
            return _once(f"{job.name} is held", "held", told)
        case "pending":
            return f"{job.name} waits{place}: {told}"
        case "preempted":
            return f"{job.name} is preempted and waits for its next turn{place}: {told}"
        case "running" if job.live_attempt is not None:
            return f"{job.name} runs as {job.live_attempt}: {told}"
        case _:
            return f"{job.name} is {job.state}: {told}"


def array_sentence(progress: ArrayProgress) -> str:
    """Return how far the members of an array are, such as ``12 completed, 1 failed, 79 to come``."""
    known = progress.completed + progress.failed + progress.stopped + progress.unmade
    counts = {
        "completed": progress.completed,
        "failed": progress.failed,
        "stopped early": progress.stopped_early,
        "stopped": progress.stopped - progress.stopped_early,
        "in the queue or running": progress.count - known,
        "to come": progress.unmade,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def why(job: Job) -> str:
    """Return the reason of a job's state, of an array after the progress of its members."""
    return f"{array_sentence(job.array)}; {job.reason.message}" if job.array else job.reason.message


def short_reason(reason: Reason) -> str:
    """Return a reason in a few words; its sentence if it has none."""
    short = short_form(reason.code, reason.jobs)
    return reason.message if short is None else short


def short_why(job: Job) -> str:
    """Return the reason of a job's state in a few words, for tables; empty where its state says it all."""
    short = short_reason(job.reason).removeprefix(f"{job.state}: ")
    return "; ".join(part for part in (array_sentence(job.array) if job.array else "", short) if part)


def _once(statement: str, state: str, why: str) -> str:
    """Return a statement with its reason, which may begin with the same word, such as ``failed: out of memory``."""
    rest = why.removeprefix(state)
    repeats = rest != why and rest[:1] in {"", " ", ":"}
    return statement + (rest if repeats else f": {why}")
