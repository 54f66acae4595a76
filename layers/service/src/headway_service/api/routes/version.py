"""The API itself: its version and its OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus

from headway.api_documents.version import ServerVersion
from headway_service import __version__
from headway_service.api.router import DocumentedRouter

router = DocumentedRouter("About")

API_VERSION = 1
"""Goes up with a change that clients have to know of; not with a new call, parameter or member of an answer."""


@router.call("GET /version", {HTTPStatus.OK: "The versions."})
def show_version() -> ServerVersion:
    """Show the version of the queue."""
    return ServerVersion(version=__version__, api=API_VERSION)
