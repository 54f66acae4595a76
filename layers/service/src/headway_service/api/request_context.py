"""What handlers get of an invocation beside the parts of the request.

These are functions of Powertools' ``Request``. Its ``Depends`` resolves the dependencies of handlers in each
invocation, which more than doubled the time of a submission.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, cast

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Header, Path
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from headway_service.bootstrap.api import ApiContainer
from headway_service.config.authorization import Caller, known_caller
from headway_service.sagemaker_api.names import JOB_NAME_PATTERN, MAX_JOB_NAME_CHARS
from headway_service.validation_messages import explained

if TYPE_CHECKING:
    from headway_service.actions.action import Author
    from headway_service.forecast.service import ForecastService

MAX_KEY_CHARS = 128
"""The longest idempotency key."""


SUBMITTED = "submitted"
"""Where the invocation keeps the name of the job that it is requested to submit, for the log."""


def container(request: Request) -> ApiContainer:
    """The service layer."""
    given: ApiContainer = request.context["container"]
    return given


def remaining_ms(request: Request) -> Callable[[], int]:
    """Returns the remaining time of the invocation, ms."""
    given: Callable[[], int] = request.context["remaining_ms"]
    return given


def forecast_service(request: Request) -> ForecastService:
    """The forecast service."""
    return container(request).forecast_service


def caller(request: Request) -> Caller:
    """The caller.

    Raises:
        NotAllowed: API Gateway names no caller.
    """
    context = cast("APIGatewayProxyEvent", request.resolved_event).request_context
    return known_caller(context.identity.user_arn or "", context.account_id or "")


def author(request: Request, reason: str | None) -> Author:
    """The caller as the author of an action.

    Args:
        reason: the reason given, if any.

    Raises:
        NotAllowed: API Gateway names no caller.
    """
    from headway_service.actions.action import Author

    context = cast("APIGatewayProxyEvent", request.resolved_event).request_context
    return Author(name=caller(request).name, address=context.identity.source_ip or "", reason=reason or "")


def call(request: Request) -> str:
    """Method and path of the call, for the log."""
    event = request.resolved_event
    return f"{event.http_method} {event.path}"


JobName = Annotated[
    str, Path(description="The name of the job.", max_length=MAX_JOB_NAME_CHARS, pattern=JOB_NAME_PATTERN)
]
"""The job that a call is about. There is no job of any other name, so the response to one is 404."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A repeated call with the same key gets the response of the first one.",
        min_length=1,
        max_length=MAX_KEY_CHARS,
        pattern=explained(r"^[A-Za-z0-9_.:-]+$", "made of letters, digits and _ . : - only"),
    ),
]
"""What the caller knows this call by."""
