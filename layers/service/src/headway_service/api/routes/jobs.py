"""Jobs: submit, list, show, change, hold, stop."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from pydantic import BaseModel, ConfigDict, Field

from headway.api_documents.batches import BatchResults
from headway.api_documents.forecast import DryRun
from headway.api_documents.jobs import Job, JobDetails, JobPage
from headway.lifecycle import TERMINAL, JobState
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
from headway_service.api.serializers import batch_document, dry_run_document, job_details_document, job_document
from headway_service.errors import (
    ImpossibleDemand,
    InvalidRequest,
    JobEnded,
    JobNotFound,
    NameInUse,
    NotAllowed,
    NotWaiting,
    QueueFull,
    RequestTooLarge,
    RuleViolation,
    UnsupportedMediaType,
)
from headway_service.jobs.submit_batch import MAX_BATCH, submit_all
from headway_service.observability.request_log import job_named_in
from headway_service.sagemaker_api.names import MAX_NAME_CHARS
from headway_service.store.job_listing import MAX_LISTED, JobFilter

router = DocumentedRouter("Jobs")

MAX_ARN_CHARS = 2048
"""The longest ARN (API reference of IAM, arnType)."""

_NOT_ENDED = frozenset(JobState) - TERMINAL
_ADMISSION = (InvalidRequest, RequestTooLarge, UnsupportedMediaType, NotAllowed, RuleViolation, ImpossibleDemand)
_TRAINING_REQUEST = "A CreateTrainingJob request, with boto3's parameter names."
_SUBMITTED: Mapping[int, str] = {
    HTTPStatus.CREATED: "The job that this call, or an earlier one with the same key, has created.",
    HTTPStatus.OK: "The job of an equal request that is in the queue already; or the result of the dry run.",
}


class PriorityChange(BaseModel):
    """The new priority of a job."""

    model_config = ConfigDict(extra="forbid", strict=True)
    priority: Annotated[int, Field(description="0 to 9999, or up to the configured maximum.")]


class Batch(BaseModel):
    """Requests to submit."""

    model_config = ConfigDict(extra="forbid")
    requests: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH, description="CreateTrainingJob requests.")]


@router.call("POST /jobs", _SUBMITTED, *_ADMISSION, NameInUse, QueueFull, models={HTTPStatus.CREATED: Job})
@router.call(
    "POST /add-job",
    _SUBMITTED,
    *_ADMISSION,
    NameInUse,
    QueueFull,
    models={HTTPStatus.CREATED: Job},
    operation="addJob",
)
def submit_job(
    *,
    training_request: Annotated[dict[str, Any], Body(description=_TRAINING_REQUEST)],
    request: Request,
    key: IdempotencyKey = None,
    dry_run: Annotated[
        bool, Query(alias="dryRun", description="Only simulate the submission; accept nothing.")
    ] = False,
) -> tuple[Job | DryRun, int]:
    """Submit a job."""
    request.context[SUBMITTED] = job_named_in(training_request)
    if dry_run:
        return dry_run_document(forecast_service(request).dry_run(training_request, caller(request))), HTTPStatus.OK
    seen, new = container(request).submitter.submit(training_request, caller(request), key)
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
    )
    return batch_document(results)


@router.call("GET /jobs", {HTTPStatus.OK: "A page of jobs."}, InvalidRequest, NotAllowed)
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
) -> JobPage:
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
    return JobPage(jobs=tuple(job_document(seen) for seen in page), next_token=following)


@router.call("GET /jobs/<name>", {HTTPStatus.OK: "The job."}, NotAllowed, JobNotFound)
def show_job(name: JobName, request: Request) -> JobDetails:
    """Show a job with its attempts, its history and its request.

    Callers that may not see its hyperparameters and its environment get the request without them.
    """
    return job_details_document(*container(request).job_queries.show(name, caller(request)))


@router.call(
    "DELETE /jobs/<name>",
    {HTTPStatus.OK: "The job, which has stopped.", HTTPStatus.ACCEPTED: "The job, which is still stopping."},
    NotAllowed,
    JobNotFound,
    JobEnded,
)
def stop_job(name: JobName, request: Request) -> tuple[Job, int]:
    """Stop a job.

    A waiting job leaves the queue, a running job is stopped. Stopping a stopped job is no error.
    """
    seen, stopping = container(request).job_commands.stop(name, caller(request))
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
