"""A job, its attempts, pages of jobs, and what a submission would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from headway.api_documents.arrays import ArrayProgress
from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import (
    Cost,
    EstimatedCost,
    Instances,
    LostCost,
    LostUnpricedSeconds,
    Price,
    SavedCost,
    SavedSeconds,
    Time,
    UnpricedSeconds,
)
from headway.dependencies import Condition, Ending
from headway.lifecycle import TERMINAL, AttemptState, JobState


@dataclass(frozen=True, kw_only=True)
class Reason(ApiDocument):
    """Why something is as it is."""

    code: Annotated[str, Member("For programs; new ones may come.")]
    message: Annotated[str, Member("One sentence for people.")]
    jobs: Annotated[tuple[str, ...], Member("The other jobs that it is about, in the order of the sentence.")] = ()


@dataclass(frozen=True, kw_only=True)
class Dependency(ApiDocument):
    """A job that another one depends on."""

    job: str
    condition: Annotated[Condition, Member("Which ends of that job let this one start: `ok`, `any` or `failed`.")]
    ended: Annotated[
        Ending | None,
        Member("How that job has ended: `completed`, `failed`, `timed out` or `stopped`; null if it has not."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Job(ApiDocument):
    """A job in the queue."""

    name: Annotated[str, Member(name="jobName")]
    state: Annotated[JobState, Member(name="jobState")]
    held: Annotated[bool, Member("Whether a user holds it: then it is in no queue until it is released.")]
    priority: Annotated[int, Member("Higher goes first.")]
    entry_time: Annotated[Time, Member("When it was accepted.")]
    demand: Instances
    team: str | None
    owner: Annotated[str | None, Member("ARN of who submitted it.")]
    choices: Annotated[
        tuple[Instances, ...], Member("All that it can run on, in the order of preference; empty without alternatives.")
    ] = ()
    alternative: Annotated[
        int, Member("Which of `choices` `demand` is, counted from 0: what it runs on, or stays on.")
    ] = 0
    depends_on: Annotated[
        tuple[Dependency, ...],
        Member("The jobs that have to end first; it is in no queue as long as one of them has not."),
    ] = ()
    not_before: Annotated[
        Time | None, Member("When it enters the queue; null if no time keeps it back, or once that has come.")
    ] = None
    array: Annotated[ArrayProgress | None, Member("Of an array: how far its members are; null for other jobs.")] = None
    member_of: Annotated[str | None, Member("Of a member of an array: the name of the array; null for others.")] = None
    index: Annotated[int | None, Member("Of a member of an array: which one, from 0; null for others.")] = None
    reused_from: Annotated[
        str | None, Member("The equal job whose outputs it has; null if it computes, or has computed, by itself.")
    ] = None
    place: Annotated[
        int | None,
        Member(
            "Position in the queue, 1 being next; null if it does not wait, is held, waits for other jobs or for its "
            "time, demands more than its pools hold or its team may use, or is beyond 1000 jobs. It counts the members "
            "of arrays that are ahead and not in the queue yet, but not in the answer of a submission."
        ),
    ]
    reason: Reason
    attempt_count: int
    live_attempt: Annotated[str | None, Member("The training job that holds its instances.")]
    preemptions: Annotated[int, Member("How often it was preempted.")] = field(default_factory=int)
    started_time: Annotated[Time | None, Member("Start of its first attempt.")]
    ended_time: Time | None
    comment: Annotated[str | None, Member("A note of its owner, or of an administrator; everybody sees it.")] = None
    max_runtime_seconds: Annotated[
        int | None, Member("MaxRuntimeInSeconds of its request; null if it was submitted to an earlier release.")
    ] = None
    limit_seconds: Annotated[
        int | None,
        Member(
            "How long each attempt may hold its instances, with their provisioning, the stop and uploads; null if "
            "nothing limits it."
        ),
    ] = None
    instance_seconds: Annotated[Mapping[str, int], Member("What its ended attempts held, per pool.")] = field(
        default_factory=dict
    )

    @property
    def has_ended(self) -> bool:
        """Whether the job has reached a state that it never leaves."""
        return self.state in TERMINAL

    @property
    def run_limit_seconds(self) -> int | None:
        """How long each attempt may train; if that is not known, how long it may hold its instances."""
        return self.limit_seconds if self.max_runtime_seconds is None else self.max_runtime_seconds


@dataclass(frozen=True, kw_only=True)
class Attempt(ApiDocument):
    """A training job that was launched for a job."""

    name: Annotated[str, Member(name="attemptName")]
    number: int
    state: Annotated[AttemptState, Member(name="attemptState")]
    status: Annotated[str | None, Member(name="trainingJobStatus")]
    secondary_status: str | None
    started_time: Time | None
    ended_time: Time | None
    failure_reason: str | None
    reason: Reason | None
    demand: Annotated[Instances, Member("The instances that it holds, or held.")] = field(default_factory=dict)
    checkpoint_time: Annotated[
        Time | None,
        Member("When its last checkpoint was written, of those that the queue has seen in S3 while it runs."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class HistoryEntry(ApiDocument):
    """A step in the life of a job."""

    time: Time
    state: Annotated[JobState, Member(name="jobState")]
    reason: Reason
    attempt_name: str | None


@dataclass(frozen=True, kw_only=True)
class WatchOf(ApiDocument):
    """How a watch of the configuration watches the live attempt."""

    watch: str
    hosts: Annotated[int, Member("How many of its hosts are monitored.")]
    note: Annotated[str | None, Member("Why not all of them.")]


@dataclass(frozen=True, kw_only=True)
class ExpectedRun(ApiDocument):
    """What was expected of the run time of a job when it entered, by which an order compares it with its equals."""

    seconds: Annotated[int, Member("Three of four jobs like it have run no longer. No promise rests on it.")]
    runs: Annotated[int, Member("How many completed jobs this rests on.")]


@dataclass(frozen=True, kw_only=True)
class JobDetails(Job):
    """A job with its attempts, its history and its request."""

    attempts: Annotated[tuple[Attempt, ...], Member("The newest 20 that ended, and the live one.")]
    history: Annotated[tuple[HistoryEntry, ...], Member("The first and the newest 49 steps.")]
    watches: tuple[WatchOf, ...]
    # Notebooks keep what is shown, and a request may have secrets in its environment.
    request: Annotated[Mapping[str, Any], Member("The CreateTrainingJob request as submitted, or changed since.")] = (
        field(repr=False)
    )
    alternatives: Annotated[
        tuple[Mapping[str, Any], ...],
        Member("For each further one of `choices`, the members of the request that it replaces."),
    ] = field(default=(), repr=False)
    wait_at_most_seconds: Annotated[int, Member("For how long after its entry it waits for a better alternative.")] = 0
    portable_checkpoint: Annotated[bool, Member("Whether it may choose again after an attempt.")] = False
    expires: Annotated[
        Time | None,
        Member("Until when it has to have started; null if it may wait for ever, or has started."),
    ] = None
    dependants: Annotated[
        tuple[str, ...], Member("The jobs that were accepted with a dependency on it before it had ended.")
    ] = ()
    parameters: Annotated[
        Mapping[str, str], Member("Of a member of an array: the hyperparameters that the sweep gives it.")
    ] = field(default_factory=dict)
    metrics: Annotated[
        Mapping[str, float],
        Member("FinalMetricDataList of the training job that completed the job, as far as the queue has seen it."),
    ] = field(default_factory=dict)
    lost_seconds: Annotated[
        int, Member("Instances times seconds that its ended attempts lost by preemptions and failures.")
    ] = 0
    billed_seconds: Annotated[Mapping[str, int], Member("Billed instances times seconds of these, per pool.")] = field(
        default_factory=dict
    )
    cost: Cost = None
    lost_cost: LostCost = None
    lost_unpriced_seconds: LostUnpricedSeconds = field(default_factory=dict)
    saved_seconds: SavedSeconds = field(default_factory=dict)
    saved_cost: SavedCost = None
    estimated_cost: EstimatedCost = None
    currency: Annotated[str | None, Member("Of the costs.")] = None
    prices: Annotated[tuple[Price, ...], Member("The prices of the costs.")] = ()
    unpriced_seconds: UnpricedSeconds = field(default_factory=dict)
    expected_run: Annotated[
        ExpectedRun | None, Member("By which the order of equals compares it; null if it counts with its limit.")
    ] = None
    predictable: Annotated[
        bool, Member("Whether its explanation has a likely start or end, if enough jobs like it have completed.")
    ] = False
    reused_attempt: Annotated[
        str | None, Member("The training job of `reusedFrom` that has made these outputs; null for none.")
    ] = None
    withheld: Annotated[tuple[str, ...], Member("Parts of the request that the caller may not see.")] = field(
        default_factory=tuple
    )

    @property
    def job(self) -> Job:
        """The job itself."""
        return self


@dataclass(frozen=True, kw_only=True)
class JobPage(ApiDocument):
    """A page of jobs."""

    jobs: tuple[Job, ...]
    next_token: Annotated[str | None, Member("Of the next page; null at the end.")]


@dataclass(frozen=True, kw_only=True)
class Shift(ApiDocument):
    """A waiting job that would start at another time."""

    job_name: str
    before: Time | None
    after: Time | None


@dataclass(frozen=True, kw_only=True)
class DryRun(ApiDocument):
    """What a request would do; nothing was accepted."""

    dry_run: bool
    job: Annotated[Job, Member("The job as it would be.")]
    expected_start: Annotated[Time | None, Member("Null if it is not known.")]
    preempts: Annotated[tuple[str, ...], Member("Jobs that it would preempt at once.")]
    delays: Annotated[tuple[Shift, ...], Member("At most 20.")]
    note: Annotated[str, Member("What the forecast assumes.")]
    releases: Annotated[tuple[str, ...], Member("Jobs whose warm pools would be released for it at once.")] = field(
        default_factory=tuple
    )
