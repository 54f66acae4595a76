"""Events over time: the feed, page by page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query

from headway.api_documents.events import EventPage
from headway.reasons import ReasonCode
from headway_service.api.documents.events import event_page_document
from headway_service.api.request_context import container
from headway_service.api.router import DocumentedRouter
from headway_service.api.times import TIME, time_ms
from headway_service.errors import InvalidRequest
from headway_service.feed.cursor import CURSOR_PATTERN, MAX_CURSOR_CHARS, Cursor
from headway_service.feed.read import MAX_EVENTS, EventFilter
from headway_service.sagemaker_api.names import MAX_JOB_NAME_CHARS, MAX_NAME_CHARS

router = DocumentedRouter("Events")


@router.call("GET /events", {HTTPStatus.OK: "A page of events."}, InvalidRequest)
def list_events(
    *,
    request: Request,
    after: Annotated[
        str | None,
        Query(
            max_length=MAX_CURSOR_CHARS,
            pattern=CURSOR_PATTERN,
            description="The cursor of an answer before: only events after it.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        Query(pattern=TIME, description="Only events since this time; a day is its first moment, in UTC."),
    ] = None,
    job: Annotated[
        str | None, Query(min_length=1, max_length=MAX_JOB_NAME_CHARS, description="Only events of this job.")
    ] = None,
    team: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="Only events of jobs of this team.")
    ] = None,
    code: Annotated[
        list[ReasonCode] | None, Query(description="Only events with this reason. May be repeated.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="The most events to return.")] = MAX_EVENTS,
) -> EventPage:
    """List events in the order in which they were recorded, those of the last 7 days.

    Continue with the cursor of the answer: no event that is recorded later is missed.
    """
    wanted = EventFilter(
        job=job,
        team=team,
        codes=frozenset(code or ()),
        since_ms=None if since is None else time_ms(since, "since"),
    )
    place = None if after is None else Cursor.parse(after)
    return event_page_document(container(request).feed_reader.read(place, wanted, limit))
