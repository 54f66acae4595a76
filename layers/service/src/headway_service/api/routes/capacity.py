"""The use of the pools, by queued and rogue training jobs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Path

from headway.api_documents.pools import Capacity
from headway.api_documents.rogue_jobs import RogueJob, RogueJobs
from headway_service.api.documents.pools import capacity_document
from headway_service.api.documents.rogue_jobs import rogue_document
from headway_service.api.request_context import author, container
from headway_service.api.router import DocumentedRouter
from headway_service.errors import InvalidRequest, NotAllowed, RogueJobNotFound
from headway_service.sagemaker_api.names import MAX_NAME_CHARS, NAME_PATTERN

router = DocumentedRouter("Capacity")

RogueName = Annotated[
    str,
    Path(
        description="The name of the training job.",
        max_length=MAX_NAME_CHARS,
        pattern=NAME_PATTERN,
    ),
]
"""The training job that a call is about."""


@router.call("GET /capacity", {HTTPStatus.OK: "Each pool."})
def show_capacity(request: Request) -> Capacity:
    """Show how the pools are used."""
    return capacity_document(container(request).capacity())


@router.call("GET /rogue-jobs", {HTTPStatus.OK: "The first 100 by name."})
def list_rogue_jobs(request: Request) -> RogueJobs:
    """List rogue training jobs."""
    rogues, more = container(request).job_queries.rogue_jobs()
    return RogueJobs(jobs=tuple(rogue_document(rogue) for rogue in rogues), more=more)


@router.call(
    "DELETE /rogue-jobs/<name>",
    {HTTPStatus.ACCEPTED: "The training job. The patrol asks SageMaker to stop it within a minute."},
    InvalidRequest,
    NotAllowed,
    RogueJobNotFound,
)
def stop_rogue_job(name: RogueName, request: Request) -> tuple[RogueJob, int]:
    """Stop a rogue training job.

    Or one whose record the queue has lost. A repeated call is no error.
    """
    by = author(request, None)
    return rogue_document(container(request).rogue_job_stops.ask(name, by.name, by.address)), HTTPStatus.ACCEPTED
