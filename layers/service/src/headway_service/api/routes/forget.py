"""The data of a person."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body
from pydantic import BaseModel, ConfigDict, Field

from headway.api_documents.forget import ForgottenOwner
from headway_service.actions.action import ActionKind
from headway_service.api.request_context import author, caller, container
from headway_service.api.router import DocumentedRouter
from headway_service.api.routes.jobs import MAX_ARN_CHARS
from headway_service.api.routes.usage import NextToken
from headway_service.errors import InvalidRequest, NotAllowed, OwnerHasJobs, UnsupportedMediaType
from headway_service.forgetting.owner import forget_owner
from headway_service.validation_messages import explained

router = DocumentedRouter("Data of a person")

_ARN = explained(r"^arn:[a-z-]+:(iam|sts)::[0-9]{12}:.+$", "the ARN of a user or of a role's session")


class Owner(BaseModel):
    """The person whose data is removed."""

    model_config = ConfigDict(extra="forbid")

    owner: Annotated[
        str, Field(pattern=_ARN, max_length=MAX_ARN_CHARS, description="The ARN, as `GET /jobs` shows it.")
    ]


@router.call(
    "POST /forget",
    {HTTPStatus.OK: "What was forgotten."},
    InvalidRequest,
    NotAllowed,
    OwnerHasJobs,
    UnsupportedMediaType,
)
def forget(request: Request, body: Annotated[Owner, Body()], next_token: NextToken = None) -> ForgottenOwner:
    """Take an owner out of a page of their ended jobs, and on the last page out of the sums of usage.

    The first pages only bring the sums up to date. It may be repeated, and interrupted, at any time.
    """
    given = container(request)
    page = forget_owner(
        given.table,
        lambda: given.accountant,
        body.owner,
        next_token,
        account=caller(request).account,
        now_ms=given.clocks.training_ms(),
    )
    if next_token is None:
        # Before the first name is removed. The record does not say whose name it is.
        given.note_action(ActionKind.FORGET, "the name of an owner", author(request, None))
    return ForgottenOwner(jobs=page.jobs, unreadable=page.unreadable, sums=page.sums, next_token=page.token)
