"""The messages that notify users of changes: what happened, why, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headway.durations import in_words
from headway.sanitize import strip_control_characters
from headway.vectors import describe
from headway_service.events.job_events import (
    DigestTeam,
    JobChange,
    JobEvent,
    OperatorAction,
    RogueJobChange,
    WeeklyDigest,
)

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
    if isinstance(change, WeeklyDigest):
        return digest_message(change)
    facts = dict(_facts(change))
    lines = [
        f"What happened: {_happened(change)}.",
        f"Why: {_why(change)}.",
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


def digest_message(digest: WeeklyDigest) -> Message:
    """The message with a digest."""
    lines = [f"Usage: {digest.message}.", "", *map(_team_line, digest.teams)]
    if digest.more_teams:
        lines.append(f"{digest.more_teams} more teams: `headway usage --from {digest.first} --to {digest.last}`")
    if digest.jobs:
        lines += ["", "Jobs that have lost the most instance hours:"]
        lines += [
            f"- {job.job_name} ({job.job_state}): {job.lost_hours:.2f} hours lost, {job.preemptions} preemptions"
            for job in digest.jobs
        ]
    if digest.advice:
        lines += ["", "Advice:"]
        lines += [
            f"- {each.job_name}: {each.finding} ({'; '.join(each.figures)}) {each.remedy}" for each in digest.advice
        ]
    if digest.prices:
        lines += ["", f"Prices in {digest.currency} an hour:"]
        lines += [f"- {price.pool}: {price.per_hour:g} from {price.since}" for price in digest.prices]
    lines += ["", f"Event: {digest.id}"]
    return Message(
        subject=f"{digest.code}: {digest.subject}"[:MAX_SUBJECT_CHARS],
        text="\n".join(map(strip_control_characters, lines)) + "\n",
        attributes={"code": digest.code},
    )


def _team_line(team: DigestTeam) -> str:
    parts = [
        f"{team.used_hours:.2f} instance hours used, {team.lost_hours:.2f} lost, {team.running_hours:.2f} running",
        f"{team.jobs} jobs ended",
        f"{team.preemptions} preemptions",
    ]
    if team.wait_p50_seconds is not None:
        parts.append(
            f"waits {_seconds(team.wait_p50_seconds)} (half), {_seconds(team.wait_p90_seconds or 0)} (nine of ten)"
        )
    if team.waits_grow:
        before = ", ".join(map(_seconds, team.wait_p90_before_seconds))
        parts.append(f"waits grow from week to week: nine of ten waited {before} at most in the weeks before")
    if team.cost is not None:
        lost = f", {team.lost_cost:.2f} of it lost" if team.lost_cost else ""
        parts.append(f"cost {team.cost:.2f}{lost}")
    if team.unpriced_hours:
        parts.append(f"{team.unpriced_hours:.2f} hours without a price")
    return f"{team.team or '(no team)'}: {', '.join(parts)}"


def _happened(change: JobEvent) -> str:
    if isinstance(change, JobChange):
        before = change.previous_state
        if before is None or before == change.job_state:
            return f"job {change.job_name} is {change.job_state}"
        return f"job {change.job_name} went from {before} to {change.job_state}"
    if isinstance(change, OperatorAction):
        return change.message
    return f"training job {change.subject} outside the queue: {change.code}"


def _why(change: JobEvent) -> str:
    if isinstance(change, OperatorAction):
        return change.reason or "no reason was given"
    return change.message


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
    if isinstance(change, OperatorAction):
        yield "action", change.action


def _seconds(time_s: int) -> str:
    return in_words(time_s * 1000)
