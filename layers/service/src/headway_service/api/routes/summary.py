"""The summary: one picture of the queue."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request, Response, content_types

from headway.api_documents.summary import Summary
from headway_service.api.conditional import ETAG, IfNoneMatch, NotModified, is_known
from headway_service.api.documents.summary import summary_document
from headway_service.api.request_context import container
from headway_service.api.router import DocumentedRouter
from headway_service.errors import InvalidRequest

router = DocumentedRouter("Summary")

_HEADERS = {ETAG: "The version of the summary, in quotes, for `If-None-Match`."}


@router.call(
    "GET /summary",
    {HTTPStatus.OK: "The summary.", HTTPStatus.NOT_MODIFIED: "The caller has this version of the summary."},
    InvalidRequest,
    headers=_HEADERS,
)
def show_summary(request: Request, if_none_match: IfNoneMatch = None) -> Response[Summary]:
    """Show one picture of the queue: pools, the first waiting jobs with their reasons, running jobs, recent events.

    It is at most a second old. All lists have limits.
    """
    summary = summary_document(*container(request).summaries.get())
    headers = {ETAG: f'"{summary.version}"'}
    if is_known(summary.version, if_none_match):
        raise NotModified(headers)
    return Response(HTTPStatus.OK, content_type=content_types.APPLICATION_JSON, body=summary, headers=headers)
