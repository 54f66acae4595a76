"""A router whose handlers declare what the OpenAPI document says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from inspect import cleandoc
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse
from pydantic.alias_generators import to_camel

from headway.api_documents.refusals import GatewayRefusal, Refusal
from headway_service.errors import RequestError, RetryLater

Handler = TypeVar("Handler", bound=Callable[..., Any])

VERSION_HEADER = "Headway-Version"
"""Header of every answer: the version of the queue's code."""

TIME_HEADER = "Headway-Time"
"""Header of every answer: the queue's time, by which all times in the answer are."""

_HEADERS: Any = {
    VERSION_HEADER: {"description": "Version of the queue.", "schema": {"type": "string"}},
    TIME_HEADER: {"description": "Time of the answer.", "schema": {"type": "string", "format": "date-time"}},
}
_RETRY_AFTER: Any = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
_FORBIDDEN = "API Gateway's own: the call is not signed, or no IAM policy allows it."
_THROTTLED = "API Gateway's own: the calls exceed the rate limit of the method."
_INTERNAL_ERROR = "`InternalError`: An error of the queue; its log has the details."


class DocumentedRouter(Router):
    """The calls on one noun.

    Args:
        tag: the noun, by which the OpenAPI document groups them.
    """

    def __init__(self, tag: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tag = tag

    def call(
        self,
        call: str,
        succeeds: Mapping[int, str],
        *refusals: type[RequestError],
        models: Mapping[int, Any] | None = None,
        operation: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a handler. Its name is the operation's id; its docstring is the summary and the description.

        Args:
            call: method and path, such as ``GET /jobs/<name>``.
            succeeds: what each status means that it answers with.
            refusals: the errors that it may answer with; that the queue is busy or failed goes for every call.
            models: the response model of each status, where they differ from the handler's return type.
            operation: the operation's id where one handler has several calls.
            headers: descriptions of the headers that only successful responses to this call have.
        """
        method, path = call.split()
        own = {name: {"description": text, "schema": {"type": "string"}} for name, text in (headers or {}).items()}
        responses = {
            status: _success(status, text, (models or {}).get(status), own) for status, text in succeeds.items()
        }
        for status, errors in _by_status(refusals).items():
            responses[status] = _refusal("\n\n".join(f"`{error.code}`: {_first_line(error)}" for error in errors))
        forbidden = responses.get(HTTPStatus.FORBIDDEN)
        responses[HTTPStatus.FORBIDDEN] = _by_gateway(_FORBIDDEN, beside=forbidden)
        responses[HTTPStatus.TOO_MANY_REQUESTS] = _by_gateway(_THROTTLED)
        responses[HTTPStatus.INTERNAL_SERVER_ERROR] = _refusal(_INTERNAL_ERROR)
        responses[RetryLater.status]["headers"] = {**_HEADERS, **_RETRY_AFTER}

        def register(handler: Handler) -> Handler:
            summary, _, description = cleandoc(handler.__doc__ or "").partition("\n\n")
            return self.route(
                path,
                method,
                summary=summary.rstrip("."),
                description=description or None,
                tags=[self._tag],
                operation_id=operation or to_camel(handler.__name__),
                responses={int(status): response for status, response in sorted(responses.items())},
            )(handler)

        return register


def _by_status(refusals: tuple[type[RequestError], ...]) -> dict[int, list[type[RequestError]]]:
    found: dict[int, list[type[RequestError]]] = {}
    every: tuple[type[RequestError], ...] = (*refusals, RetryLater)
    for error in every:
        found.setdefault(error.status, []).append(error)
    return found


def _success(status: int, text: str, model: Any, headers: Any) -> OpenAPIResponse:
    response: OpenAPIResponse = {"description": text, "headers": {**_HEADERS, **headers}}
    if status == HTTPStatus.NOT_MODIFIED:
        # Without a content of its own, Powertools adds that of the handler's return type.
        response["content"] = {}
    elif model is not None:
        response["content"] = {"application/json": {"model": model}}
    return response


def _refusal(text: str) -> OpenAPIResponse:
    content: Any = {"application/json": {"model": Refusal}}
    return {"description": text, "headers": _HEADERS, "content": content}


def _by_gateway(text: str, *, beside: OpenAPIResponse | None = None) -> OpenAPIResponse:
    """What API Gateway answers without asking a function, with a status that the queue itself may have too."""
    if beside is None:
        own: Any = {"application/json": {"model": GatewayRefusal}}
        return {"description": text, "content": own}
    both: Any = {"application/json": {"model": Refusal | GatewayRefusal}}
    return {"description": f"{beside['description']}\n\n{text}", "headers": _HEADERS, "content": both}


def _first_line(error: type[RequestError]) -> str:
    return cleandoc(error.__doc__ or "").partition("\n")[0]
