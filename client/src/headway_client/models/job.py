"""A job, and all about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.job_states import ENDED_STATES
from headway_client.models.reading import list_of, mapping, optional_text, optional_whole, text, texts, whole, wholes
from headway_client.models.reason import Reason


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as the queue shows it.

    Attributes:
        name: the name the user chose.
        state: one of `JOB_STATES`.
        priority: higher goes first.
        entry_time: when the queue accepted it, ISO 8601 in UTC.
        demand: instances per pool.
        owner: ARN of who submitted it, or None if not known.
        place: place in line, 1 is next; None if it does not wait or stands beyond what the server counts.
        reason: why it is in this state, or why it waits.
        attempt_count: training jobs launched for it so far.
        live_attempt: name of the training job that runs for it now, if any.
        ended_time: when it ended, ISO 8601 in UTC; None while it has not.
        team: who is charged, if anybody.
        held: whether it waits without standing in any line, until it is released.
        started_time: when its first attempt started, ISO 8601 in UTC; None before.
        preemptions: how often it was stopped for another job.
        instance_seconds: whole seconds that its ended attempts held instances, by pool.
        document: the whole answer as it came.
    """

    name: str
    state: str
    priority: int
    entry_time: str
    demand: Mapping[str, int]
    owner: str | None
    place: int | None
    reason: Reason
    attempt_count: int
    live_attempt: str | None
    ended_time: str | None
    team: str | None
    held: bool
    started_time: str | None
    preemptions: int
    instance_seconds: Mapping[str, int]
    document: Mapping[str, Any]

    @property
    def has_ended(self) -> bool:
        """Whether the job has reached a state that it never leaves."""
        return self.state in ENDED_STATES

    @classmethod
    def from_document(cls, document: object) -> Job:
        """Read a job; raises `ServerFaultError` if what every job has is missing."""
        job = mapping(document)
        return cls(
            name=text(job, "jobName"),
            state=text(job, "jobState"),
            priority=whole(job, "priority"),
            entry_time=text(job, "entryTime"),
            demand=wholes(job, "demand"),
            owner=optional_text(job, "owner"),
            place=optional_whole(job, "place"),
            reason=Reason.from_document(job.get("reason")),
            attempt_count=whole(job, "attemptCount"),
            live_attempt=optional_text(job, "liveAttempt"),
            ended_time=optional_text(job, "endedTime"),
            team=optional_text(job, "team"),
            # Servers before the first one that tells its version do not send these.
            held=bool(job.get("held")),
            started_time=optional_text(job, "startedTime"),
            preemptions=optional_whole(job, "preemptions") or 0,
            instance_seconds=wholes(job, "instanceSeconds") if job.get("instanceSeconds") else {},
            document=job,
        )


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One SageMaker training job launched for a job.

    Attributes:
        name: the training job's name.
        number: 1 for the first.
        state: launching, live, stopping or ended.
        status: SageMaker's TrainingJobStatus as last seen, if any.
        secondary_status: SageMaker's SecondaryStatus as last seen, if any.
        started_time: when the intent to launch it was written, ISO 8601 in UTC.
        ended_time: when SageMaker had ended it; None while it has not.
        failure_reason: SageMaker's FailureReason, if any.
        reason: why it was stopped or refused, if it was.
    """

    name: str
    number: int
    state: str
    status: str | None
    secondary_status: str | None
    started_time: str | None
    ended_time: str | None
    failure_reason: str | None
    reason: Reason | None

    @classmethod
    def from_document(cls, document: object) -> Attempt:
        """Read an attempt; raises `ServerFaultError` on anything else."""
        attempt = mapping(document)
        return cls(
            name=text(attempt, "attemptName"),
            number=whole(attempt, "number"),
            state=text(attempt, "attemptState"),
            status=optional_text(attempt, "trainingJobStatus"),
            secondary_status=optional_text(attempt, "secondaryStatus"),
            started_time=optional_text(attempt, "startedTime"),
            ended_time=optional_text(attempt, "endedTime"),
            failure_reason=optional_text(attempt, "failureReason"),
            reason=Reason.under(attempt, "reason"),
        )


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """One step in a job's life: the state it came to, when, and why."""

    time: str
    state: str
    reason: Reason | None
    attempt_name: str | None

    @classmethod
    def from_document(cls, document: object) -> HistoryEntry:
        """Read a step; raises `ServerFaultError` on anything else."""
        entry = mapping(document)
        return cls(
            time=text(entry, "time"),
            state=text(entry, "jobState"),
            reason=Reason.under(entry, "reason"),
            attempt_name=optional_text(entry, "attemptName"),
        )


@dataclass(frozen=True, kw_only=True)
class WatchOf:
    """How a watch covers the live attempt of a job: so many hosts, and why not all of them, if so."""

    watch: str
    hosts: int
    note: str | None

    @classmethod
    def from_document(cls, document: object) -> WatchOf:
        """Read one entry of `watches`; raises `ServerFaultError` on anything else."""
        entry = mapping(document)
        return cls(watch=text(entry, "watch"), hosts=whole(entry, "hosts"), note=optional_text(entry, "note"))


@dataclass(frozen=True, kw_only=True)
class JobDetails:
    """A job with its attempts and history (oldest first, as the server sends them) and its request.

    Attributes:
        job: the job.
        attempts: what was launched for it.
        history: its steps.
        watches: how its live attempt is watched.
        request: the CreateTrainingJob request, without what is withheld.
        withheld: parts of the request that the caller may not see.
    """

    job: Job
    attempts: tuple[Attempt, ...]
    history: tuple[HistoryEntry, ...]
    watches: tuple[WatchOf, ...]
    request: Mapping[str, Any]
    withheld: tuple[str, ...] = ()

    @classmethod
    def from_document(cls, document: object) -> JobDetails:
        """Read a job's details; raises `ServerFaultError` on anything else."""
        details = mapping(document)
        return cls(
            job=Job.from_document(details),
            attempts=tuple(Attempt.from_document(item) for item in list_of(details, "attempts")),
            history=tuple(HistoryEntry.from_document(item) for item in list_of(details, "history")),
            watches=tuple(WatchOf.from_document(item) for item in list_of(details, "watches")),
            request=mapping(details.get("request")),
            # An older server withholds nothing.
            withheld=texts(details, "withheld") if "withheld" in details else (),
        )
