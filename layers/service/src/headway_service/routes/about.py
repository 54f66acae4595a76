"""The API itself: its version, and what it takes and answers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response, content_types

from headway_service import __version__, answers
from headway_service.routes.calls import Calls

router = Calls("About")

API_VERSION = 1
"""Goes up with a change that clients have to know of; not with a new call, parameter or member of an answer."""


@router.call("GET /version", {HTTPStatus.OK: "The versions."})
def show_version() -> answers.Version:
    """Show the version of the queue."""
    return {"version": __version__, "api": API_VERSION}


@router.call("GET /openapi.json", {HTTPStatus.OK: "The document."}, models={HTTPStatus.OK: dict[str, Any]})
def show_openapi() -> Response[str]:
    """Show the OpenAPI document of this API."""
    # Put off: it imports all calls, and so this module. Few ever ask for it.
    from headway_service.openapi import document_text

    return Response(status_code=HTTPStatus.OK, content_type=content_types.APPLICATION_JSON, body=document_text())
