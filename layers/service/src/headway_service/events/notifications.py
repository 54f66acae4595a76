"""The messages that notify users of changes: what happened, why, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headway.sanitize import strip_control_characters
from headway.vectors import describe
from headway_service.events.job_events import JobChange, JobEvent, RogueJobChange

MAX_SUBJECT_CHARS = 100
"""SNS's limit of a subject, which is ASCII (API reference, Publish)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message, as SNS takes it.

    Attributes:
        subject: one line.
        text: several lines.
        attributes: for the filter policies of subscribers; numbers are compared as numbers.
    """

    subject: str
    text: str
    attributes: Mapping[str, str | int]


def message_of(change: JobEvent) -> Message:
    """The message about a change."""
    facts = dict(_facts(change))
    lines = [
        f"What happened: {_happened(change)}.",
        f"Why: {change.message}.",
        f"What to do: {change.remedy or 'nothing.'}",
        "",
        *(f"{name}: {value}" for name, value in facts.items()),
    ]
    return Message(
        subject=f"{change.code}: {change.subject}"[:MAX_SUBJECT_CHARS],
        # A line break in a reason could fake other lines of the message.
        text="\n".join(map(strip_control_characters, lines)) + "\n",
        attributes=dict(_attributes(change)),
    )


def _happened(change: JobEvent) -> str:
    if isinstance(change, JobChange):
        before = change.previous_state
        if before is None or before == change.job_state:
            return f"job {change.job_name} is {change.job_state}"
        return f"job {change.job_name} went from {before} to {change.job_state}"
    return f"training job {change.subject} outside the queue: {change.code}"


def _facts(change: JobEvent) -> Iterator[tuple[str, object]]:
    if isinstance(change, JobChange):
        yield "Job", change.job_name
        if change.attempt_name:
            yield "Training job", f"{change.attempt_name} (number {change.attempt_count})"
        yield "Priority", change.priority
        if change.owner:
            yield "Owner", change.owner
    if isinstance(change, RogueJobChange):
        yield "Training job", change.training_job_arn
        yield "Instances", describe(change.demand)
    if change.team:
        yield "Team", change.team
    yield "Time", f"{change.time:%Y-%m-%d %H:%M:%S} UTC"
    yield "Reason", change.code
    yield "Event", change.id


def _attributes(change: JobEvent) -> Iterator[tuple[str, str | int]]:
    yield "code", change.code
    # SNS takes no empty text, so a job without a team has no such attribute.
    if change.team:
        yield "team", change.team
    if isinstance(change, JobChange):
        yield "jobName", change.job_name
        yield "jobState", change.job_state
        yield "priority", change.priority
    if isinstance(change, RogueJobChange):
        yield "trainingJobName", change.training_job_name
