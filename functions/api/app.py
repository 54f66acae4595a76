"""The private HTTP API: ``docs/api.md`` describes what it takes and answers."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response, content_types
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, ConfigDict

from headway.lifecycle import TERMINAL, JobState
from headway_service.documents import (
    error_document,
    job_document,
    letter_document,
    pool_document,
    redrive_document,
    rogue_document,
    whole_job_document,
)
from headway_service.errors import Busy, FieldError, InvalidRequest, JobNotFound, RequestError
from headway_service.listing import MAX_LISTED
from headway_service.log import logger
from headway_service.pools import InForce, configure, current
from headway_service.wiring import Services

app = APIGatewayRestResolver(enable_validation=True)
services = Services.from_environment()

_NOT_ENDED = frozenset(JobState) - TERMINAL


class PriorityChange(BaseModel):
    """The body of ``PATCH /jobs/{name}``."""

    model_config = ConfigDict(extra="forbid", strict=True)
    priority: int


@app.post("/jobs")
@app.post("/add-job")
def submit(request: Annotated[dict[str, Any], Body()]) -> tuple[dict[str, Any], int]:
    """Accept a CreateTrainingJob request into the queue."""
    seen, new = services.desk.submit(request, app.current_event.request_context.identity.user_arn)
    return job_document(seen), HTTPStatus.CREATED if new else HTTPStatus.OK


@app.get("/jobs")
def jobs(
    state: Annotated[list[JobState] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = MAX_LISTED,
    next_token: Annotated[str | None, Query(alias="nextToken", max_length=1000)] = None,
) -> dict[str, Any]:
    """List jobs; without a state, those that have not ended."""
    page, following = services.desk.jobs(set(state or _NOT_ENDED), limit, next_token)
    return {"jobs": [job_document(seen) for seen in page], "nextToken": following}


@app.get("/jobs/<name>")
def job(name: str) -> dict[str, Any]:
    """Show a job."""
    return whole_job_document(*services.desk.show(name))


@app.delete("/jobs/<name>")
def stop(name: str) -> tuple[dict[str, Any], int]:
    """Stop a job."""
    seen, stopping = services.desk.stop(name)
    return job_document(seen), HTTPStatus.ACCEPTED if stopping else HTTPStatus.OK


@app.patch("/jobs/<name>")
def change(name: str, change: Annotated[PriorityChange, Body()]) -> dict[str, Any]:
    """Change the priority of a job."""
    return job_document(services.desk.set_priority(name, change.priority))


@app.get("/capacity")
def capacity() -> dict[str, Any]:
    """Show how the pools are used."""
    return {"pools": [pool_document(use) for use in services.desk.capacity()]}


@app.get("/rogue-jobs")
def rogue_jobs() -> dict[str, Any]:
    """Show training jobs that did not come through the queue."""
    rogues, more = services.desk.rogue_jobs()
    return {"rogueJobs": [rogue_document(rogue) for rogue in rogues], "more": more}


@app.get("/config")
def config() -> dict[str, Any]:
    """Show the configuration."""
    return _configuration(current(services.table, services.store, services.clock))


@app.put("/config")
def set_config(document: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
    """Replace the configuration."""
    applied = configure(services.table, services.store, document, services.clock)
    services.wake("configuration changed")
    return _configuration(applied)


@app.get("/dead-letters")
def dead_letters() -> dict[str, Any]:
    """Show what was put aside because nobody could handle it."""
    letters, more = services.dead_letters.show()
    return {"letters": [letter_document(letter) for letter in letters], "more": more}


@app.post("/dead-letters/redrive")
def redrive() -> dict[str, Any]:
    """Hand what was put aside again to whom it was meant for."""
    return redrive_document(services.dead_letters.redrive())


def _configuration(known: InForce) -> dict[str, Any]:
    return {
        "document": known.configuration.model_dump(mode="json"),
        "version": known.version,
        "problem": known.problem,
    }


def _answer(error: RequestError) -> Response[str]:
    headers = {"Retry-After": "1"} if isinstance(error, Busy) else {}
    # The names of fields only: a message may quote a value, and values may be secrets.
    logger.info("refused", extra={"code": error.code, "fields": [each.field for each in error.fields]})
    return Response(
        status_code=error.status,
        content_type=content_types.APPLICATION_JSON,
        body=json.dumps(error_document(error, app.lambda_context.aws_request_id)),
        headers=headers,
    )


# Powertools types these decorators as returning anything.
@app.exception_handler(RequestError)  # type: ignore[untyped-decorator]
def _refuse(error: RequestError) -> Response[str]:
    return _answer(error)


@app.exception_handler(RequestValidationError)  # type: ignore[untyped-decorator]
def _refuse_malformed(error: RequestValidationError) -> Response[str]:
    fields = [
        FieldError(
            field=".".join(str(part) for part in problem["loc"] if part not in {"body", "query", "path"})
            or "(the body)",
            message=str(problem["msg"]),
        )
        for problem in error.errors()
    ]
    return _answer(InvalidRequest(f"{fields[0].field}: {fields[0].message}", fields))


@app.not_found
def _no_such_path(_: NotFoundError) -> Response[str]:
    event = app.current_event
    return _answer(JobNotFound(f"there is no {event.http_method} {event.path}; see docs/api.md"))


@app.exception_handler(Exception)  # type: ignore[untyped-decorator]
def _fail(_: Exception) -> Response[str]:
    logger.exception("unexpected error")
    document = {
        "error": {"code": "InternalError", "message": "the queue failed to answer; its log says why", "fields": []},
        "requestId": app.lambda_context.aws_request_id,
    }
    return Response(
        status_code=HTTPStatus.INTERNAL_SERVER_ERROR,
        content_type=content_types.APPLICATION_JSON,
        body=json.dumps(document),
    )


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return app.resolve(event, context)
