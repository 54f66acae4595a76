"""The private HTTP API: ``docs/reference/api.md`` describes it, ``headway_service.api.routes`` has its calls."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
import json
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response, content_types
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.middlewares.openapi_validation import OpenAPIRequestValidationMiddleware
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.logging import correlation_paths
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic_core import to_json

from headway_service import __version__
from headway_service.api.conditional import NotModified
from headway_service.api.documents.refusals import refusal_body
from headway_service.api.nouns import nouns_of, router_of
from headway_service.api.request_body import document_in
from headway_service.api.request_context import SUBMITTED
from headway_service.api.router import TIME_HEADER, VERSION_HEADER
from headway_service.api.times import time_text
from headway_service.bootstrap.api import ApiContainer
from headway_service.errors import FieldError, InvalidRequest, JobNotFound, RequestError, RetryLater
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.observability.request_log import job_in, log_refusal
from headway_service.validation_messages import message_of


class _Validation(OpenAPIRequestValidationMiddleware):
    """Powertools' own, but for bodies: it takes forms for JSON, and what Python's decoder takes beyond JSON."""

    def _get_body(self, app: Any) -> Any:
        event = app.current_event
        return document_in(event.headers.get("content-type", ""), event.decoded_body)


def _to_json(document: Any) -> str:
    # Twice as quick as the standard library, for a page of a listing.
    return to_json(document).decode()


app = APIGatewayRestResolver(enable_validation=True, serializer=_to_json)
# There is no other way to replace Powertools' own, whose constructor has no types.
app._request_validation_middleware = _Validation()  # type: ignore[no-untyped-call]  # noqa: SLF001
_loaded: set[str] = set()


def _load_calls_on(path: str) -> None:
    for noun in sorted(nouns_of(path) - _loaded):
        app.include_router(router_of(noun))
        _loaded.add(noun)


# Users wait for submissions. The first call on another noun loads its module, in 5 to 50 ms (decision 102).
_load_calls_on("/jobs")
container = ApiContainer.from_environment()
cold_start.freeze()


def _answer(error: RequestError) -> Response[str]:
    headers = {"Retry-After": "1"} if isinstance(error, RetryLater) else {}
    event = app.current_event
    caller = event.request_context.identity.user_arn or ""
    job = job_in(event.path) or app.context.get(SUBMITTED)
    log_refusal(error, caller=caller, call=f"{event.http_method} {event.path}", job=job)
    return Response(
        status_code=error.status,
        content_type=content_types.APPLICATION_JSON,
        body=refusal_body(error, app.lambda_context.aws_request_id),
        headers=headers,
    )


# Powertools types these decorators as returning anything.
@app.exception_handler(RequestError)  # type: ignore[untyped-decorator]
def _refuse(error: RequestError) -> Response[str]:
    return _answer(error)


@app.exception_handler(NotModified)  # type: ignore[untyped-decorator]
def _not_modified(unchanged: NotModified) -> Response[str]:
    return Response(status_code=HTTPStatus.NOT_MODIFIED, body="", headers=unchanged.headers)


@app.exception_handler(RequestValidationError)  # type: ignore[untyped-decorator]
def _refuse_malformed(error: RequestValidationError) -> Response[str]:
    problems = error.errors()
    if app.current_event.path.startswith("/jobs/") and any(problem["loc"] == ("path", "name") for problem in problems):
        return _answer(
            JobNotFound("no job can have this name: names have up to 63 letters, digits and hyphens; list the queue")
        )
    fields = [FieldError(field=_field_at(problem["loc"]), message=message_of(problem)) for problem in problems]
    return _answer(InvalidRequest(f"{fields[0].field}: {fields[0].message}", fields))


def _field_at(loc: tuple[str | int, ...]) -> str:
    """The path of a field that Powertools complains of."""
    part, *path = loc
    path = [each for each in path if each not in {"body", "query", "path"}]
    if len(path) > 2 and path[0] == "changes":
        # After the index of a change Pydantic has its kind, which is the value of a member and no member.
        del path[2]
    field = ".".join(map(str, path))
    # Powertools spells headers in lower case.
    return (field.title() if part == "header" else field) or "(the body)"


@app.not_found
def _no_such_path(_: NotFoundError) -> Response[str]:
    event = app.current_event
    return _answer(JobNotFound(f"there is no {event.http_method} {event.path}; see docs/reference/api.md"))


@app.exception_handler(Exception)  # type: ignore[untyped-decorator]
def _fail(_: Exception) -> Response[str]:
    logger.exception("unexpected error")
    record([metrics.UNEXPECTED.of(1)])
    document = {
        "error": {
            "code": "InternalError",
            "message": "the queue failed to respond; its log has the reason",
            "fields": [],
        },
        "requestId": app.lambda_context.aws_request_id,
    }
    return Response(
        status_code=HTTPStatus.INTERNAL_SERVER_ERROR,
        content_type=content_types.APPLICATION_JSON,
        body=json.dumps(document),
    )


@logger.inject_lambda_context(clear_state=True, correlation_id_path=correlation_paths.API_GATEWAY_REST)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    _load_calls_on(event["path"])
    # A new object: routers share the invocation's context with other instances of this module.
    app.context = {"container": container, "remaining_ms": context.get_remaining_time_in_millis}
    answer = app.resolve(event, context)
    answer["multiValueHeaders"] |= {
        VERSION_HEADER: [__version__],
        TIME_HEADER: [time_text(container.clocks.training_ms())],
    }
    return answer
