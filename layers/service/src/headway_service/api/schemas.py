"""What the HTTP API answers, as types: ``documents`` makes them, and the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict  # Before Python 3.12 pydantic takes no other.

from headway.lifecycle import AttemptState, JobState
from headway_service.dead_letters.parser import LetterQueue

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""ISO 8601, UTC, with milliseconds and Z."""

Instances = Annotated[dict[str, int], Field(description="Instances per pool.")]


class Reason(TypedDict):
    """Why a job is where it is."""

    code: Annotated[str, Field(description="For programs; new ones may come.")]
    message: Annotated[str, Field(description="One sentence for people.")]


class Job(TypedDict):
    """A job in the queue."""

    jobName: str
    jobState: JobState
    held: Annotated[bool, Field(description="Whether it stands in no line until somebody releases it.")]
    priority: Annotated[int, Field(description="Higher goes first.")]
    entryTime: Annotated[Time, Field(description="When it was accepted.")]
    demand: Instances
    team: str | None
    owner: Annotated[str | None, Field(description="ARN of who submitted it.")]
    place: Annotated[
        int | None,
        Field(description="Place in line, 1 being next; null if it does not wait, is held, or stands beyond 1000."),
    ]
    reason: Reason
    attemptCount: int
    liveAttempt: Annotated[str | None, Field(description="The training job that holds its instances.")]
    preemptions: Annotated[int, Field(description="How often it gave way to another job.")]
    startedTime: Annotated[Time | None, Field(description="Start of its first attempt.")]
    endedTime: Time | None
    instanceSeconds: Annotated[dict[str, int], Field(description="What its ended attempts held, per pool.")]


class Attempt(TypedDict):
    """A training job that was launched for a job."""

    attemptName: str
    number: int
    attemptState: AttemptState
    trainingJobStatus: str | None
    secondaryStatus: str | None
    startedTime: Time | None
    endedTime: Time | None
    failureReason: str | None
    reason: Reason | None


class Step(TypedDict):
    """A step in the life of a job."""

    time: Time
    jobState: JobState
    reason: Reason
    attemptName: str | None


class Watched(TypedDict):
    """How a watch of the configuration watches the live attempt."""

    watch: str
    hosts: Annotated[int, Field(description="How many of its hosts are watched.")]
    note: Annotated[str | None, Field(description="Why not all of them.")]


class WholeJob(Job):
    """A job with its attempts, its history and its request."""

    attempts: Annotated[list[Attempt], Field(description="The newest 20 that ended, and the live one.")]
    history: Annotated[list[Step], Field(description="The first and the newest 49 steps.")]
    watches: list[Watched]
    request: Annotated[dict[str, Any], Field(description="The CreateTrainingJob request as it was submitted.")]
    withheld: Annotated[list[str], Field(description="Parts of the request that the caller may not see.")]


class JobPage(TypedDict):
    """A page of jobs."""

    jobs: list[Job]
    nextToken: Annotated[str | None, Field(description="Of the next page; null at the end.")]


class Pause(TypedDict):
    """Nothing is started, and nobody preempted, until it is resumed."""

    everything: Annotated[bool, Field(description="Whether all pools are paused, not this one alone.")]
    by: Annotated[str, Field(description="Who paused it, such as user/ada.")]
    since: Time
    reason: str
    stops: Annotated[bool, Field(description="Whether what runs is stopped and put back into the line.")]


class Pool(TypedDict):
    """How a pool is used, in instances."""

    pool: str
    size: int
    allocated: Annotated[int, Field(description="Held by jobs.")]
    stopping: Annotated[int, Field(description="Part of allocated.")]
    reserved: Annotated[int, Field(description="Freed for a waiting job.")]
    rogue: Annotated[int, Field(description="Taken by training jobs outside the queue.")]
    free: Annotated[int, Field(description="Negative while more is in use than the pool has.")]
    waiting: Annotated[int, Field(description="Jobs that wait for it, counted to 1000.")]
    pause: Annotated[Pause | None, Field(description="Null unless it, or everything, is paused.")]


class Capacity(TypedDict):
    """How the pools are used."""

    pools: list[Pool]


class RogueJob(TypedDict):
    """A training job that did not come through the queue."""

    trainingJobName: str
    trainingJobStatus: str
    demand: Instances
    charged: Annotated[dict[str, int], Field(description="The part of its demand that is missing in the pools.")]
    team: Annotated[str | None, Field(description="What its tags say.")]
    createdTime: Time
    seenTime: Time
    stopAskedBy: Annotated[str | None, Field(description="The operator who asked for it to be stopped.")]
    reason: Reason


class RogueJobs(TypedDict):
    """Training jobs that did not come through the queue."""

    rogueJobs: list[RogueJob]
    more: bool


class ConfigurationInForce(TypedDict):
    """The configuration in force."""

    document: dict[str, Any]
    version: int
    problem: Annotated[str | None, Field(description="What is wrong with the stored document, if it is not in force.")]


class Letter(TypedDict):
    """What was put aside because nobody could handle it."""

    id: str
    queue: LetterQueue
    sentTime: Time
    receiveCount: int
    about: Annotated[str | None, Field(description="What it tells of; null if it cannot be read.")]
    errorType: str | None
    errorMessage: str | None
    problem: Annotated[str | None, Field(description="Why it cannot be redriven.")]


class Letters(TypedDict):
    """Dead letters."""

    letters: list[Letter]
    more: Annotated[bool, Field(description="Whether there may be more.")]


class RedriveFailure(TypedDict):
    """A letter that could not be handed over, and stays."""

    id: str
    queue: LetterQueue
    about: str | None
    problem: str


class Redriven(TypedDict):
    """What a redrive did."""

    redriven: int
    dropped: int
    failed: int
    left: Annotated[int, Field(description="Letters that are still there, with what failed.")]
    failures: list[RedriveFailure]


class Delay(TypedDict):
    """A waiting job that would start at another time."""

    jobName: str
    before: Time | None
    after: Time | None


class DryRun(TypedDict):
    """What would come of a request; nothing was accepted."""

    dryRun: bool
    job: Annotated[Job, Field(description="The job as it would be.")]
    expectedStart: Annotated[Time | None, Field(description="Null if it is not known.")]
    preempts: Annotated[list[str], Field(description="Jobs that it would preempt at once.")]
    delays: Annotated[list[Delay], Field(description="At most 20.")]
    note: Annotated[str, Field(description="What the forecast assumes.")]


class Taken(TypedDict):
    """A request of a batch that is in the queue."""

    status: Annotated[int, Field(description="As the submission alone would be answered: 201 or 200.")]
    job: Job


class Refused(TypedDict):
    """A request of a batch that was refused."""

    status: Annotated[int, Field(description="As the submission alone would be answered.")]
    error: Error


class BatchResults(TypedDict):
    """What became of each request, in their order."""

    results: list[Taken | Refused]


class AheadOfIt(TypedDict):
    """A job that another one waits for."""

    jobName: str
    jobState: JobState
    priority: int
    demand: Instances
    startedTime: Time | None
    expectedEnd: Time | None


class Explanation(TypedDict):
    """Why a job is where it is, and what comes next."""

    jobName: str
    jobState: JobState
    held: bool
    place: int | None
    reason: Reason
    expectedStart: Annotated[Time | None, Field(description="Of a waiting job, if it is known.")]
    expectedEnd: Annotated[Time | None, Field(description="By its limit.")]
    note: Annotated[str, Field(description="What this assumes.")]
    ahead: Annotated[
        list[AheadOfIt],
        Field(description="What holds instances of its pools, then what is before it in line; at most 20."),
    ]
    more: Annotated[int, Field(description="How many there are beyond these, counted to 1000.")]
    pools: Annotated[list[Pool], Field(description="Those that it demands.")]
    remedy: Annotated[str | None, Field(description="What one can do.")]


class Foreseen(TypedDict):
    """A waiting job, and when it is expected to start."""

    jobName: str
    jobState: JobState
    place: int | None
    priority: int
    demand: Instances
    held: bool
    expectedStart: Time | None


class Forecast(TypedDict):
    """When waiting jobs are expected to start."""

    asOf: Time
    until: Annotated[Time | None, Field(description="How far was looked ahead; null if to the end.")]
    note: Annotated[str, Field(description="What the forecast assumes.")]
    jobs: Annotated[list[Foreseen], Field(description="By expected start, those without one last, then by place.")]
    more: bool


class Consequences(TypedDict):
    """What changes would do; nothing was changed."""

    starts: Annotated[list[str], Field(description="Jobs that would start at once.")]
    preempts: Annotated[list[str], Field(description="Jobs that would be preempted at once.")]
    moved: Annotated[list[Delay], Field(description="Jobs that would start at another time; at most 100.")]
    note: Annotated[str, Field(description="What the forecast assumes.")]


class Version(TypedDict):
    """What answers."""

    version: Annotated[str, Field(description="Of the queue's code.")]
    api: Annotated[int, Field(description="Of this API; it changes when clients have to.")]


class WrongField(TypedDict):
    """What is wrong with one field."""

    field: Annotated[str, Field(description="Its path, such as ResourceConfig.InstanceCount.")]
    message: str


class Error(TypedDict):
    """Why a call was refused."""

    code: str
    message: Annotated[str, Field(description="One sentence that says what to change.")]
    fields: list[WrongField]


class Refusal(TypedDict):
    """A refusal."""

    error: Error
    requestId: Annotated[str, Field(description="By it the queue's log tells more.")]


class GatewayRefusal(TypedDict):
    """A refusal of API Gateway's own: no function was asked."""

    message: str
