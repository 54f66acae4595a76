"""Jobs: submit, list, show, change, hold, stop."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from headway.lifecycle import TERMINAL, JobState
from headway_service.api import schemas
from headway_service.api.request_context import (
    SUBMITTED,
    IdempotencyKey,
    call,
    caller,
    forecast_service,
    remaining_ms,
    services,
)
from headway_service.api.router import Calls
from headway_service.api.serializers import batch_document, dry_run_document, job_document, whole_job_document
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

router = Calls("Jobs")

MAX_ARN_CHARS = 2048
"""The longest ARN (API reference of IAM, arnType)."""

JobName = Annotated[str, Path(description="The name of the job.")]

_NOT_ENDED = frozenset(JobState) - TERMINAL
_ADMISSION = (InvalidRequest, RequestTooLarge, UnsupportedMediaType, NotAllowed, RuleViolation, ImpossibleDemand)
_TRAINING_REQUEST = "A CreateTrainingJob request, with boto3's parameter names."
_SUBMITTED: Mapping[int, str] = {
    HTTPStatus.CREATED: "The job, which this call made, or an earlier one with the same key.",
    HTTPStatus.OK: "The job of the same request, which is in the queue already; or what would come of the request.",
}


class PriorityChange(BaseModel):
    """The priority that a job gets."""

    model_config = ConfigDict(extra="forbid", strict=True)
    priority: Annotated[int, Field(description="0 to 9999, or less if the configuration says so.")]


class Batch(BaseModel):
    """Requests to be submitted."""

    model_config = ConfigDict(extra="forbid")
    requests: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH, description="CreateTrainingJob requests.")]


@router.call("POST /jobs", _SUBMITTED, *_ADMISSION, NameInUse, QueueFull, models={HTTPStatus.CREATED: schemas.Job})
@router.call(
    "POST /add-job",
    _SUBMITTED,
    *_ADMISSION,
    NameInUse,
    QueueFull,
    models={HTTPStatus.CREATED: schemas.Job},
    operation="addJob",
)
def submit_job(
    *,
    request: Annotated[dict[str, Any], Body(description=_TRAINING_REQUEST)],
    asked: Request,
    key: IdempotencyKey = None,
    dry_run: Annotated[
        bool, Query(alias="dryRun", description="Only tell what would come of it, and accept nothing.")
    ] = False,
) -> tuple[schemas.Job | schemas.DryRun, int]:
    """Submit a job."""
    asked.context[SUBMITTED] = job_named_in(request)
    if dry_run:
        return dry_run_document(forecast_service(asked).dry_run(request, caller(asked))), HTTPStatus.OK
    seen, new = services(asked).submitter.submit(request, caller(asked), key)
    return job_document(seen), HTTPStatus.CREATED if new else HTTPStatus.OK


@router.call(
    "POST /job-batches",
    {HTTPStatus.OK: "What became of each request, in their order."},
    InvalidRequest,
    UnsupportedMediaType,
    NotAllowed,
)
def submit_jobs(
    batch: Annotated[Batch, Body()],
    asked: Request,
    key: IdempotencyKey = None,
) -> schemas.BatchResults:
    """Submit up to 100 jobs.

    Each is taken or refused by itself. Those that there was no time for come back with status 503: send them again.
    """
    results = submit_all(
        batch.requests,
        caller(asked),
        key,
        call=call(asked),
        submitter=services(asked).submitter_that_wakes,
        wake=services(asked).wake,
        remaining_ms=remaining_ms(asked),
    )
    return batch_document(results)


@router.call("GET /jobs", {HTTPStatus.OK: "A page of jobs."}, InvalidRequest, NotAllowed)
def list_jobs(
    *,
    asked: Request,
    state: Annotated[
        list[JobState] | None, Query(description="May be repeated; without it all that have not ended.")
    ] = None,
    mine: Annotated[bool, Query(description="Only the caller's.")] = False,
    owner: Annotated[
        str | None, Query(min_length=1, max_length=MAX_ARN_CHARS, description="Only of whoever has this ARN.")
    ] = None,
    team: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="Only of this team.")
    ] = None,
    name_contains: Annotated[
        str | None,
        Query(
            alias="nameContains", min_length=1, max_length=MAX_NAME_CHARS, description="Only with this in their name."
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="At most so many.")] = MAX_LISTED,
    next_token: Annotated[
        str | None, Query(alias="nextToken", max_length=1000, description="From the page before.")
    ] = None,
) -> schemas.JobPage:
    """List jobs.

    What holds instances comes first, then the line in rank order, then the ended, newest first.
    """
    owners = [owner] if owner is not None else []
    if mine:
        owners.append(caller(asked).arn)
    wanted = JobFilter(
        states=frozenset(state or _NOT_ENDED), owners=frozenset(owners), team=team, name_contains=name_contains
    )
    page, following = services(asked).job_queries.jobs(wanted, limit, next_token)
    return {"jobs": [job_document(seen) for seen in page], "nextToken": following}


@router.call("GET /jobs/<name>", {HTTPStatus.OK: "The job."}, NotAllowed, JobNotFound)
def show_job(name: JobName, asked: Request) -> schemas.WholeJob:
    """Show a job with its attempts, its history and its request.

    Who may not see its hyperparameters and its environment gets the request without them.
    """
    return whole_job_document(*services(asked).job_queries.show(name, caller(asked)))


@router.call(
    "DELETE /jobs/<name>",
    {HTTPStatus.OK: "The job, which has stopped.", HTTPStatus.ACCEPTED: "The job, which is still stopping."},
    NotAllowed,
    JobNotFound,
    JobEnded,
)
def stop_job(name: JobName, asked: Request) -> tuple[schemas.Job, int]:
    """Stop a job.

    A waiting job leaves the line, a running one is asked to stop. Stopping a stopped job is no error.
    """
    seen, stopping = services(asked).job_commands.stop(name, caller(asked))
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
def change_job(name: JobName, change: Annotated[PriorityChange, Body()], asked: Request) -> schemas.Job:
    """Change the priority of a job."""
    return job_document(services(asked).job_commands.set_priority(name, change.priority, caller(asked)))


@router.call("POST /jobs/<name>/hold", {HTTPStatus.OK: "The job, held."}, NotAllowed, JobNotFound, JobEnded, NotWaiting)
def hold_job(name: JobName, asked: Request) -> schemas.Job:
    """Take a waiting job out of the line until it is released.

    It keeps its place: its entry time and its priority.
    """
    return job_document(services(asked).job_commands.hold(name, caller(asked)))


@router.call(
    "POST /jobs/<name>/release", {HTTPStatus.OK: "The job, not held."}, NotAllowed, JobNotFound, JobEnded, QueueFull
)
def release_job(name: JobName, asked: Request) -> schemas.Job:
    """Put a held job back into the line."""
    return job_document(services(asked).job_commands.release(name, caller(asked)))
