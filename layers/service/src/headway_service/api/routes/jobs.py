"""Jobs: submit, list, show, change, hold, stop."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Self

from aws_lambda_powertools.event_handler import Request, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from headway.api_documents.arrays import MemberPage
from headway.api_documents.batches import BatchResults
from headway.api_documents.jobs import DryRun, Job, JobDetails, JobPage
from headway.lifecycle import TERMINAL, JobState
from headway.scheduling.ordering import MAX_PRIORITY
from headway.sweeps import MAX_MEMBERS
from headway_service.admission.submission import Submission
from headway_service.api.add_job_body import submission_in
from headway_service.api.documents.arrays import member_page_document
from headway_service.api.documents.batches import batch_document
from headway_service.api.documents.costs import with_cost
from headway_service.api.documents.jobs import dry_run_document, job_details_document, job_document
from headway_service.api.job_page import page_response
from headway_service.api.request_context import (
    SUBMITTED,
    IdempotencyKey,
    JobName,
    call,
    caller,
    container,
    forecast_service,
    remaining_ms,
)
from headway_service.api.router import DocumentedRouter
from headway_service.api.visible_text import EMPTY_OR_VISIBLE_LINE, VISIBLE_LINE
from headway_service.errors import (
    BudgetSpent,
    ImpossibleDemand,
    InvalidRequest,
    JobEnded,
    JobNotFound,
    NameInUse,
    NotAllowed,
    NotWaiting,
    QueueFull,
    RequestTooLarge,
    RestoreUnfinished,
    RuleViolation,
    UnsupportedMediaType,
)
from headway_service.jobs.commands import MAX_COMMENT_CHARS, MAX_STOP_REASON_CHARS
from headway_service.jobs.queries import MAX_LISTED_MEMBERS
from headway_service.jobs.submit_batch import MAX_BATCH, submit_all
from headway_service.observability.request_log import job_named_in
from headway_service.sagemaker_api.names import MAX_NAME_CHARS
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.sagemaker_api.tags import MAX_TAGS
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import MAX_LISTED

router = DocumentedRouter("Jobs")

MAX_ARN_CHARS = 2048
"""The longest ARN (API reference of IAM, arnType)."""

_NOT_ENDED = frozenset(JobState) - TERMINAL
_ADMISSION = (InvalidRequest, RequestTooLarge, UnsupportedMediaType, NotAllowed, RuleViolation, ImpossibleDemand)
_TRAINING_REQUEST = "A CreateTrainingJob request, with boto3's parameter names."
_JOB = (
    "A CreateTrainingJob request, or an object with `jobName`, `priority` and the request as `jobDetails`; its members "
    "`entryTime` and `jobState` are ignored. Beside `jobDetails` it may have `alternatives`, `waitAtMostSeconds`, "
    "`portableCheckpoint`, `dependsOn`, `reuse`, `reuseUnpinned`, `sweep`, `atOnce` and `maxFailures`."
)
_SUBMITTED: Mapping[int, str] = {
    HTTPStatus.CREATED: "The job that this call, or an earlier one with the same key, has created.",
    HTTPStatus.OK: "The job of an equal request that is in the queue already; or the result of the dry run.",
}


DryRunSwitch = Annotated[bool, Query(alias="dryRun", description="Only simulate the submission; accept nothing.")]


StopReason = Annotated[
    str | None,
    Query(
        max_length=MAX_STOP_REASON_CHARS,
        pattern=VISIBLE_LINE,
        description="Why, in one line; the reasons of the job repeat it. That of the first stop counts.",
    ),
]


class PriorityChange(BaseModel):
    """The new priority of a job."""

    model_config = ConfigDict(extra="forbid", strict=True)
    priority: Annotated[
        int,
        Field(
            description="0 to 9999, or up to the configured maximum.",
            # The service says who may set which, so that it checks them.
            json_schema_extra={"minimum": 0, "maximum": MAX_PRIORITY},
        ),
    ]


class ChangedRequest(BaseModel):
    """What changes about the request of a waiting job: at least one member."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, json_schema_extra={"minProperties": 1}
    )
    max_runtime_seconds: Annotated[
        int | None,
        Field(
            ge=1,
            description="`StoppingCondition.MaxRuntimeInSeconds`; `MaxWaitTimeInSeconds`, of spot, changes by as much.",
        ),
    ] = None
    instances: Annotated[
        int | None, Field(ge=1, description="`ResourceConfig.InstanceCount`; not of a job with instance groups.")
    ] = None
    tags: Annotated[
        dict[str, str],
        Field(description="Tags to add, or to give another value.", max_length=MAX_TAGS),
    ] = {}
    remove_tags: Annotated[
        list[str],
        Field(description="Keys of tags to remove. Those that the job does not have are ignored.", max_length=MAX_TAGS),
    ] = []

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must have at least one of maxRuntimeSeconds, instances, tags and removeTags")
        if both := sorted(self.tags.keys() & set(self.remove_tags)):
            raise ValueError(f"has {both[0]} in tags and in removeTags")
        return self


class Comment(BaseModel):
    """The new comment of a job."""

    model_config = ConfigDict(extra="forbid", strict=True)
    comment: Annotated[
        str,
        Field(
            description="One line, which everybody who may list jobs sees; empty removes the comment.",
            max_length=MAX_COMMENT_CHARS,
            pattern=EMPTY_OR_VISIBLE_LINE,
        ),
    ]


class Batch(BaseModel):
    """Requests to submit."""

    model_config = ConfigDict(extra="forbid")
    requests: Annotated[
        list[Any],
        Field(
            min_length=1, max_length=MAX_BATCH, description="CreateTrainingJob requests, or bodies of `POST /add-job`."
        ),
    ]


@router.call("POST /jobs", _SUBMITTED, *_ADMISSION, NameInUse, QueueFull, BudgetSpent, models={HTTPStatus.CREATED: Job})
def submit_job(
    *,
    training_request: Annotated[dict[str, Any], Body(description=_TRAINING_REQUEST)],
    request: Request,
    key: IdempotencyKey = None,
    dry_run: DryRunSwitch = False,
) -> tuple[Job | DryRun, int]:
    """Submit a job."""
    request.context[SUBMITTED] = job_named_in(training_request)
    return _submit(training_request, request, key, dry_run=dry_run)


@router.call(
    "POST /add-job", _SUBMITTED, *_ADMISSION, NameInUse, QueueFull, BudgetSpent, models={HTTPStatus.CREATED: Job}
)
def add_job(
    *,
    job: Annotated[dict[str, Any], Body(description=_JOB)],
    request: Request,
    key: IdempotencyKey = None,
    dry_run: DryRunSwitch = False,
) -> tuple[Job | DryRun, int]:
    """Submit a job, as the founding article's clients do."""
    submission = submission_in(job)
    request.context[SUBMITTED] = job_named_in(Submission.of(submission).request)
    return _submit(submission, request, key, dry_run=dry_run)


def _submit(submitted: Any, request: Request, key: str | None, *, dry_run: bool) -> tuple[Job | DryRun, int]:
    if dry_run:
        return dry_run_document(forecast_service(request).dry_run(submitted, caller(request))), HTTPStatus.OK
    seen, new = container(request).submitter.submit(submitted, caller(request), key)
    return job_document(seen), HTTPStatus.CREATED if new else HTTPStatus.OK


@router.call(
    "POST /job-batches",
    {HTTPStatus.OK: "The result of each request, in their order."},
    InvalidRequest,
    UnsupportedMediaType,
    NotAllowed,
)
def submit_jobs(
    batch: Annotated[Batch, Body()],
    request: Request,
    key: IdempotencyKey = None,
) -> BatchResults:
    """Submit up to 100 jobs.

    Each is accepted or refused separately. Requests that there was no time for have status 503: submit them again.
    """
    results = submit_all(
        batch.requests,
        caller(request),
        key,
        call=call(request),
        submitter=container(request).make_submitter,
        wake=container(request).wake,
        remaining_ms=remaining_ms(request),
        read=submission_in,
    )
    return batch_document(results)


@router.call(
    "GET /jobs", {HTTPStatus.OK: "A page of jobs."}, InvalidRequest, NotAllowed, models={HTTPStatus.OK: JobPage}
)
def list_jobs(
    *,
    request: Request,
    state: Annotated[
        list[JobState] | None, Query(description="May be repeated; by default all states that are not terminal.")
    ] = None,
    mine: Annotated[bool, Query(description="Only the caller's jobs.")] = False,
    owner: Annotated[
        str | None, Query(min_length=1, max_length=MAX_ARN_CHARS, description="Only jobs of the owner with this ARN.")
    ] = None,
    team: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="Only jobs of this team.")
    ] = None,
    name_contains: Annotated[
        str | None,
        Query(
            alias="nameContains",
            min_length=1,
            max_length=MAX_NAME_CHARS,
            description="Only jobs whose names contain this.",
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="The most entries to return.")] = MAX_LISTED,
    next_token: Annotated[
        str | None, Query(alias="nextToken", max_length=1000, description="The token of the previous page.")
    ] = None,
) -> Response[str]:
    """List jobs.

    Jobs that hold instances come first, then waiting jobs in rank order, then ended jobs, newest first.
    """
    owners = [owner] if owner is not None else []
    if mine:
        owners.append(caller(request).arn)
    wanted = JobFilter(
        states=frozenset(state or _NOT_ENDED), owners=frozenset(owners), team=team, name_contains=name_contains
    )
    page, following = container(request).job_queries.jobs(wanted, limit, next_token)
    return page_response(JobPage(jobs=tuple([job_document(seen) for seen in page]), next_token=following))


@router.call("GET /jobs/<name>", {HTTPStatus.OK: "The job."}, NotAllowed, JobNotFound)
def show_job(name: JobName, request: Request) -> JobDetails:
    """Show a job with its attempts, its history and its request.

    Callers that may not see its hyperparameters and its environment get the request without them.
    """
    seen, attempt, shown, covered, member = container(request).job_queries.show(name, caller(request))
    document = job_details_document(seen, attempt, shown, covered, member)
    given = container(request)
    return with_cost(document, seen.job, attempt, lambda: given.prices, given.clocks.training_ms())


@router.call(
    "GET /jobs/<name>/members", {HTTPStatus.OK: "Members of the array."}, InvalidRequest, NotAllowed, JobNotFound
)
def list_members(
    *,
    name: JobName,
    request: Request,
    begin: Annotated[int, Query(alias="from", ge=0, lt=MAX_MEMBERS, description="The index of the first member.")] = 0,
    limit: Annotated[
        int, Query(ge=1, le=MAX_LISTED_MEMBERS, description="The most members to return.")
    ] = MAX_LISTED_MEMBERS,
) -> MemberPage:
    """List the members of an array with their hyperparameters and final metrics, by index.

    Callers that may not see its hyperparameters get the members without them.
    """
    return member_page_document(*container(request).job_queries.members(name, begin, limit, caller(request)))


@router.call(
    "DELETE /jobs/<name>",
    {HTTPStatus.OK: "The job, which has stopped.", HTTPStatus.ACCEPTED: "The job, which is still stopping."},
    InvalidRequest,
    NotAllowed,
    JobNotFound,
    JobEnded,
)
def stop_job(name: JobName, request: Request, reason: StopReason = None) -> tuple[Job, int]:
    """Stop a job.

    A waiting job leaves the queue, a running job is stopped. Stopping a stopped job is no error.
    """
    seen, stopping = container(request).job_commands.stop(name, caller(request), (reason or "").strip())
    return job_document(seen), HTTPStatus.ACCEPTED if stopping else HTTPStatus.OK


@router.call(
    "PATCH /jobs/<name>",
    {HTTPStatus.OK: "The job."},
    InvalidRequest,
    UnsupportedMediaType,
    NotAllowed,
    JobNotFound,
    JobEnded,
)
def change_job(name: JobName, change: Annotated[PriorityChange, Body()], request: Request) -> Job:
    """Change the priority of a job."""
    return job_document(container(request).job_commands.set_priority(name, change.priority, caller(request)))


@router.call(
    "PUT /jobs/<name>/comment",
    {HTTPStatus.OK: "The job."},
    InvalidRequest,
    UnsupportedMediaType,
    NotAllowed,
    JobNotFound,
)
def comment_on_job(name: JobName, change: Annotated[Comment, Body()], request: Request) -> Job:
    """Change the comment of a job, in whichever state it is."""
    text = change.comment.strip()
    return job_document(container(request).job_commands.set_comment(name, text, caller(request)))


@router.call(
    "POST /jobs/<name>/change",
    {HTTPStatus.OK: "The job, which waits with the changed request."},
    *_ADMISSION,
    JobNotFound,
    JobEnded,
    NotWaiting,
    RestoreUnfinished,
    QueueFull,
)
def change_request(name: JobName, change: Annotated[ChangedRequest, Body()], request: Request) -> Job:
    """Change the run time or the instances of a waiting job.

    The changed request is checked as a submission of the job's owner is. A job that asks for no more keeps its place in
    the queue; another one waits as if it was submitted now.
    """
    wanted = RequestChange(
        max_runtime_s=change.max_runtime_seconds,
        instances=change.instances,
        tags=change.tags,
        removed_tags=change.remove_tags,
    )
    return job_document(container(request).request_changes.change(name, wanted, caller(request)))


@router.call("POST /jobs/<name>/hold", {HTTPStatus.OK: "The job, held."}, NotAllowed, JobNotFound, JobEnded, NotWaiting)
def hold_job(name: JobName, request: Request) -> Job:
    """Hold a waiting job: it does not start until it is released.

    It keeps its place: its entry time and its priority.
    """
    return job_document(container(request).job_commands.hold(name, caller(request)))


@router.call(
    "POST /jobs/<name>/release", {HTTPStatus.OK: "The job, not held."}, NotAllowed, JobNotFound, JobEnded, QueueFull
)
def release_job(name: JobName, request: Request) -> Job:
    """Release a held job, which waits again."""
    return job_document(container(request).job_commands.release(name, caller(request)))
