"""What operators have done to the whole queue."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query

from headway.api_documents.actions import OperatorActions
from headway_service.actions.history import MAX_ACTIONS, NEXT_PATTERN, read_actions
from headway_service.api.documents.actions import actions_document
from headway_service.api.request_context import container
from headway_service.api.router import DocumentedRouter
from headway_service.errors import InvalidRequest

router = DocumentedRouter("Actions")


@router.call("GET /actions", {HTTPStatus.OK: "The actions."}, InvalidRequest)
def list_actions(
    request: Request,
    after: Annotated[
        str | None, Query(max_length=250, pattern=NEXT_PATTERN, description="The `next` of an answer before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ACTIONS, description="The most actions to return.")] = MAX_ACTIONS,
) -> OperatorActions:
    """List what operators have done to the whole queue, the newest first.

    Pauses, drains and resumes, changes of the configuration, stops of rogue training jobs, redrives of dead letters,
    and names that were taken out; each with who, when, from where and why. They are kept for two years. What was done
    to a job is in its history.
    """
    return actions_document(read_actions(container(request).table, limit, after))
