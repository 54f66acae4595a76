"""The answers of the queue's API as values.

Each value keeps the document it was read from (`document`), so that what a newer server adds is not lost
on a caller who prints JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.errors import ServerFaultError

LIVE_STATES = ("running", "stopping", "preempted", "pending")
"""The states of a job that has not ended."""

ENDED_STATES = ("completed", "failed", "stopped")
"""The states of a job that has ended; it stays readable until its retention time has passed."""

JOB_STATES = LIVE_STATES + ENDED_STATES


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why something is as it is.

    Attributes:
        code: a short name for programs.
        message: a sentence for people.
    """

    code: str
    message: str

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Reason:
        """Read a reason; raises `ServerFaultError` on anything else."""
        return cls(code=_text(document, "code"), message=_text(document, "message"))


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
    document: Mapping[str, Any]

    @property
    def has_ended(self) -> bool:
        """Whether the job has reached a state that it never leaves."""
        return self.state in ENDED_STATES

    @classmethod
    def from_document(cls, document: object) -> Job:
        """Read a job; raises `ServerFaultError` if what every job has is missing."""
        job = _mapping(document)
        demand = _mapping(job.get("demand"))
        return cls(
            name=_text(job, "jobName"),
            state=_text(job, "jobState"),
            priority=_whole(job, "priority"),
            entry_time=_text(job, "entryTime"),
            demand={pool: _whole(demand, pool) for pool in demand},
            owner=_optional_text(job, "owner"),
            place=_optional_whole(job, "place"),
            reason=Reason.from_document(_mapping(job.get("reason"))),
            attempt_count=_whole(job, "attemptCount"),
            live_attempt=_optional_text(job, "liveAttempt"),
            ended_time=_optional_text(job, "endedTime"),
            document=job,
        )


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The answer to a submitted request.

    Attributes:
        job: the job that the queue now holds under the request's name.
        created: whether this very submission made it. False where the queue already held the same request,
            and True where it did so only because an earlier try of this submission had arrived.
    """

    job: Job
    created: bool


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
        attempt = _mapping(document)
        return cls(
            name=_text(attempt, "attemptName"),
            number=_whole(attempt, "number"),
            state=_text(attempt, "attemptState"),
            status=_optional_text(attempt, "trainingJobStatus"),
            secondary_status=_optional_text(attempt, "secondaryStatus"),
            started_time=_optional_text(attempt, "startedTime"),
            ended_time=_optional_text(attempt, "endedTime"),
            failure_reason=_optional_text(attempt, "failureReason"),
            reason=_optional_reason(attempt),
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
        entry = _mapping(document)
        return cls(
            time=_text(entry, "time"),
            state=_text(entry, "jobState"),
            reason=_optional_reason(entry),
            attempt_name=_optional_text(entry, "attemptName"),
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
        entry = _mapping(document)
        return cls(watch=_text(entry, "watch"), hosts=_whole(entry, "hosts"), note=_optional_text(entry, "note"))


@dataclass(frozen=True, kw_only=True)
class JobDetails:
    """A job with its attempts and history (oldest first, as the server sends them) and its request."""

    job: Job
    attempts: tuple[Attempt, ...]
    history: tuple[HistoryEntry, ...]
    watches: tuple[WatchOf, ...]
    request: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> JobDetails:
        """Read a job's details; raises `ServerFaultError` on anything else."""
        details = _mapping(document)
        return cls(
            job=Job.from_document(details),
            attempts=tuple(Attempt.from_document(item) for item in _list(details, "attempts")),
            history=tuple(HistoryEntry.from_document(item) for item in _list(details, "history")),
            watches=tuple(WatchOf.from_document(item) for item in _list(details, "watches")),
            request=_mapping(details.get("request")),
        )


@dataclass(frozen=True, kw_only=True)
class PoolUse:
    """How a pool's instances are used; every number counts instances, `waiting` counts jobs.

    `stopping` is part of `allocated`; `rogue` is taken by training jobs that did not come through the queue.
    """

    pool: str
    size: int
    allocated: int
    stopping: int
    reserved: int
    rogue: int
    free: int
    waiting: int


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The pools and their use, with the document they were read from."""

    pools: tuple[PoolUse, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Capacity:
        """Read the capacity; raises `ServerFaultError` on anything else."""
        capacity = _mapping(document)
        numbers = ("size", "allocated", "stopping", "reserved", "rogue", "free", "waiting")
        pools = []
        for item in _list(capacity, "pools"):
            pool = _mapping(item)
            pools.append(PoolUse(pool=_text(pool, "pool"), **{key: _whole(pool, key) for key in numbers}))
        return cls(pools=tuple(pools), document=capacity)


@dataclass(frozen=True, kw_only=True)
class RogueJob:
    """A SageMaker training job that did not come through the queue.

    Attributes:
        name: its name in SageMaker.
        status: SageMaker's TrainingJobStatus as last seen.
        demand: instances per type.
        charged: the part of them that is missing in the pools.
        team: the team that its tags name, if any.
        created_time: when it was created, ISO 8601 in UTC.
        reason: what is wrong with it, and whether it is being stopped.
        document: its part of the answer as it came.
    """

    name: str
    status: str
    demand: Mapping[str, int]
    charged: Mapping[str, int]
    team: str | None
    created_time: str
    reason: Reason
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> RogueJob:
        """Read a rogue job; raises `ServerFaultError` on anything else."""
        rogue = _mapping(document)
        demand, charged = _mapping(rogue.get("demand")), _mapping(rogue.get("charged"))
        return cls(
            name=_text(rogue, "trainingJobName"),
            status=_text(rogue, "trainingJobStatus"),
            demand={pool: _whole(demand, pool) for pool in demand},
            charged={pool: _whole(charged, pool) for pool in charged},
            team=_optional_text(rogue, "team"),
            created_time=_text(rogue, "createdTime"),
            reason=Reason.from_document(_mapping(rogue.get("reason"))),
            document=rogue,
        )


@dataclass(frozen=True, kw_only=True)
class RogueJobs:
    """The training jobs that did not come through the queue, by name, and whether there are more of them."""

    jobs: tuple[RogueJob, ...]
    more: bool

    @classmethod
    def from_document(cls, document: object) -> RogueJobs:
        """Read rogue jobs; raises `ServerFaultError` on anything else."""
        answer = _mapping(document)
        jobs = tuple(RogueJob.from_document(item) for item in _list(answer, "rogueJobs"))
        return cls(jobs=jobs, more=bool(answer.get("more")))


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The document that says which pools there are and what the policy is.

    Attributes:
        settings: the document as it was put.
        version: counts up with each change.
        problem: a sentence on why the stored document can't be used; None if it can.
        document: the whole answer as it came.
    """

    settings: Mapping[str, Any]
    version: int
    problem: str | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Configuration:
        """Read the configuration; raises `ServerFaultError` on anything else."""
        answer = _mapping(document)
        return cls(
            settings=_mapping(answer.get("document") or {}),
            version=_whole(answer, "version"),
            problem=_optional_text(answer, "problem"),
            document=answer,
        )


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """An event or a wake-up that was put aside, as nobody could handle it.

    Attributes:
        id: SQS's id of the message; a letter that is redriven and fails again has a new one.
        queue: ``event`` or ``wake``.
        sent_time: when it was sent, ISO 8601 in UTC.
        receive_count: how often it was received, be it only to be shown.
        about: a training job and its status, or why the scheduler was to be woken; None if it is illegible.
        error_type: what it failed with, if it says so.
        error_message: the same in words, if it says so.
        problem: why it can't be redriven; None if it can.
    """

    id: str
    queue: str
    sent_time: str
    receive_count: int
    about: str | None
    error_type: str | None
    error_message: str | None
    problem: str | None

    @classmethod
    def from_document(cls, document: object) -> DeadLetter:
        """Read a dead letter; raises `ServerFaultError` on anything else."""
        letter = _mapping(document)
        return cls(
            id=_text(letter, "id"),
            queue=_text(letter, "queue"),
            sent_time=_text(letter, "sentTime"),
            receive_count=_whole(letter, "receiveCount"),
            about=_optional_text(letter, "about"),
            error_type=_optional_text(letter, "errorType"),
            error_message=_optional_text(letter, "errorMessage"),
            problem=_optional_text(letter, "problem"),
        )


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """What was put aside, whether there may be more of it, and the document that says so."""

    letters: tuple[DeadLetter, ...]
    more: bool
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> DeadLetters:
        """Read dead letters; raises `ServerFaultError` on anything else."""
        answer = _mapping(document)
        letters = tuple(DeadLetter.from_document(item) for item in _list(answer, "letters"))
        return cls(letters=letters, more=bool(answer.get("more")), document=answer)


@dataclass(frozen=True, kw_only=True)
class RedriveFailure:
    """A dead letter that could not be redriven and stays: its id and queue, and why."""

    id: str
    queue: str
    problem: str

    @classmethod
    def from_document(cls, document: object) -> RedriveFailure:
        """Read a failure; raises `ServerFaultError` on anything else."""
        failure = _mapping(document)
        return cls(id=_text(failure, "id"), queue=_text(failure, "queue"), problem=_text(failure, "problem"))


@dataclass(frozen=True, kw_only=True)
class Redrive:
    """What a redrive did; every number counts letters.

    Attributes:
        redriven: handed over and removed.
        dropped: removed, as another letter had asked for the same already.
        failed: could not be handed over, and stay.
        left: still there, with those that failed; approximate if there were too many for one redrive.
        failures: why, letter by letter.
        document: the whole answer as it came.
    """

    redriven: int
    dropped: int
    failed: int
    left: int
    failures: tuple[RedriveFailure, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Redrive:
        """Read what a redrive did; raises `ServerFaultError` on anything else."""
        answer = _mapping(document)
        return cls(
            **{key: _whole(answer, key) for key in ("redriven", "dropped", "failed", "left")},
            failures=tuple(RedriveFailure.from_document(item) for item in _list(answer, "failures")),
            document=answer,
        )


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ServerFaultError(_foreign(f"an object was expected, not {type(value).__name__}"))
    return value


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no list"))
    return value


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no text"))
    return value


def _optional_text(document: Mapping[str, Any], key: str) -> str | None:
    return None if document.get(key) is None else _text(document, key)


def _whole(document: Mapping[str, Any], key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no whole number"))
    return value


def _optional_whole(document: Mapping[str, Any], key: str) -> int | None:
    return None if document.get(key) is None else _whole(document, key)


def _optional_reason(document: Mapping[str, Any]) -> Reason | None:
    reason = document.get("reason")
    return None if reason is None else Reason.from_document(_mapping(reason))


def _foreign(detail: str) -> str:
    return (
        f"The endpoint's answer is not one of Headway's API ({detail}). Check that the endpoint is Headway's "
        "and that client and server are of the same version."
    )
