"""The description of this API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response, content_types

from headway_service.api.openapi import document_text
from headway_service.api.router import DocumentedRouter

router = DocumentedRouter("About")


@router.call("GET /openapi.json", {HTTPStatus.OK: "The document."}, models={HTTPStatus.OK: dict[str, Any]})
def show_openapi() -> Response[str]:
    """Show the OpenAPI document of this API."""
    return Response(status_code=HTTPStatus.OK, content_type=content_types.APPLICATION_JSON, body=document_text())
