"""The forecast: why a job waits, when jobs start, and the effect of changes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from headway.api_documents.forecast import Explanation, Forecast, WhatIf
from headway.forecasting import forecast
from headway.scheduling.ordering import MAX_PRIORITY
from headway_service.api import request_context
from headway_service.api.add_job_body import submission_in
from headway_service.api.documents.forecast import explanation_document, forecast_document, what_if_document
from headway_service.api.request_context import JobName
from headway_service.api.router import DocumentedRouter
from headway_service.config.pool import MAX_POOL_SIZE, PoolName
from headway_service.errors import (
    ImpossibleDemand,
    InvalidRequest,
    JobNotFound,
    NameInUse,
    NotAllowed,
    RequestTooLarge,
    RuleViolation,
    UnsupportedMediaType,
)
from headway_service.forecast import service
from headway_service.sagemaker_api.names import MAX_NAME_CHARS, NAME_PATTERN

router = DocumentedRouter("Foresight")

MAX_CHANGES = 10
"""Changes in one what-if."""


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Submit(_Change):
    """A request is submitted."""

    change: Literal["submit"]
    request: Annotated[dict[str, Any], Field(description="A CreateTrainingJob request.")]

    def as_asked(self) -> service.Edit:
        """It for the service."""
        return service.SubmitRequest(request=submission_in(self.request))


class Withdraw(_Change):
    """A waiting job leaves the queue."""

    change: Literal["withdraw"]
    job_name: Annotated[str, Field(max_length=MAX_NAME_CHARS, pattern=NAME_PATTERN)]

    def as_asked(self) -> service.Edit:
        """It for the service."""
        return forecast.Cancel(job=self.job_name)


class Reprioritise(_Change):
    """A job, waiting or running, gets another priority."""

    change: Literal["reprioritise"]
    job_name: Annotated[str, Field(max_length=MAX_NAME_CHARS, pattern=NAME_PATTERN)]
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY)]

    def as_asked(self) -> service.Edit:
        """It for the service."""
        return forecast.Reprioritize(job=self.job_name, priority=self.priority)


class Resize(_Change):
    """A pool, perhaps a new one, gets another size."""

    change: Literal["resize"]
    pool: PoolName
    size: Annotated[int, Field(ge=0, le=MAX_POOL_SIZE)]

    def as_asked(self) -> service.Edit:
        """It for the service."""
        return forecast.Resize(pool=self.pool, size=self.size)


Change = Annotated[Submit | Withdraw | Reprioritise | Resize, Field(discriminator="change")]


class Changes(BaseModel):
    """Changes, applied in order."""

    model_config = ConfigDict(extra="forbid")
    changes: Annotated[list[Change], Field(min_length=1, max_length=MAX_CHANGES)]


@router.call("GET /jobs/<name>/explanation", {HTTPStatus.OK: "The explanation."}, JobNotFound)
def explain_job(name: JobName, request: Request) -> Explanation:
    """Explain why a job is where it is, and when it is expected to start or end."""
    return explanation_document(request_context.forecast_service(request).explain(name))


@router.call("GET /forecast", {HTTPStatus.OK: "The forecast."}, InvalidRequest, JobNotFound)
def forecast_starts(
    request: Request,
    job: Annotated[str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="Only this job.")] = None,
    limit: Annotated[
        int, Query(ge=1, le=service.MAX_FORECAST_JOBS, description="The most entries to return.")
    ] = service.MAX_FORECAST_JOBS,
) -> Forecast:
    """Forecast when waiting jobs start."""
    found = request_context.forecast_service(request).forecast(job, limit)
    if job is None:
        starts = {each.seen.job.job_name: each.start_ms for each in found.jobs}
        request_context.container(request).summaries.keep_forecast(found.as_of_ms, starts)
    return forecast_document(found)


@router.call(
    "POST /what-if",
    {HTTPStatus.OK: "Their effects."},
    InvalidRequest,
    NotAllowed,
    JobNotFound,
    NameInUse,
    RequestTooLarge,
    UnsupportedMediaType,
    RuleViolation,
    ImpossibleDemand,
)
def what_if(changes: Annotated[Changes, Body()], request: Request) -> WhatIf:
    """Show the effect of changes.

    They are applied in order to the current queue, and decisions are simulated. Nothing is changed.
    """
    return what_if_document(
        request_context.forecast_service(request).what_if(
            [each.as_asked() for each in changes.changes], request_context.caller(request)
        )
    )
