"""The configuration document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request, Response, content_types
from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Path, Query

from headway.api_documents.config_history import ConfigurationHistory, ConfigurationVersion
from headway.api_documents.effects import ConfigurationEffects
from headway.api_documents.pools import Configuration
from headway_service.api.documents.config_history import history_document, version_document
from headway_service.api.documents.effects import effects_document
from headway_service.api.request_context import author, caller, container
from headway_service.api.router import DocumentedRouter
from headway_service.api.visible_text import VISIBLE_LINE
from headway_service.config import document as configuration
from headway_service.errors import (
    ConfigurationChanged,
    InvalidConfiguration,
    InvalidRequest,
    NotAllowed,
    UnsupportedMediaType,
    VersionNotFound,
    VersionRequired,
)
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig
from headway_service.pools.config_history import MAX_REASON_CHARS, NEXT_PATTERN, get_record, read_history, record_before
from headway_service.validation_messages import explained

router = DocumentedRouter("Configuration")

MAX_VERSIONS = 50
"""Versions of one answer: each may have 8192 characters."""

_ANY = "*"
_ETAG = {"ETag": "The version of the configuration, in quotes, for `If-Match`."}

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="The version that the document is based on, in quotes; `*` replaces any version.",
        pattern=explained(r'^(\*|"[0-9]{1,15}")$', 'a version in quotes, such as "7", or *'),
    ),
]
"""Which configuration a call is meant for (RFC 9110)."""


@router.call("GET /config", {HTTPStatus.OK: "The configuration."}, headers=_ETAG)
def show_configuration(request: Request) -> Response[Configuration]:
    """Show the configuration in force.

    The document contains its version, so that it can be edited and put. The version is the `ETag`, too.
    """
    return _answer(container(request).in_force())


@router.call("GET /config/history", {HTTPStatus.OK: "The versions."}, InvalidRequest)
def list_configurations(
    request: Request,
    after: Annotated[
        str | None, Query(max_length=40, pattern=NEXT_PATTERN, description="The `next` of an answer before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_VERSIONS, description="The most versions to return.")] = MAX_VERSIONS,
) -> ConfigurationHistory:
    """List the configurations that were in force, the newest one first.

    Each with who has set it, when, from where and why, and how it differs from the one before. They are kept for two
    years.
    """
    return history_document(read_history(container(request).table, limit, after))


@router.call("GET /config/history/<version>", {HTTPStatus.OK: "The version."}, InvalidRequest, VersionNotFound)
def show_configuration_version(
    version: Annotated[int, Path(ge=0, description="The version.")],
    request: Request,
    since: Annotated[
        int | None, Query(ge=0, description="The version that it is compared with; by default the one before.")
    ] = None,
) -> ConfigurationVersion:
    """Show a configuration that was in force, and how it differs from another one."""
    given = container(request)
    life = given.in_force().life
    record = get_record(given.table, life, version)
    other = record_before(given.table, record) if since is None else get_record(given.table, life, since)
    return version_document(record, other)


@router.call(
    "POST /config/effects",
    {HTTPStatus.OK: "What it would do."},
    InvalidConfiguration,
    InvalidRequest,
    UnsupportedMediaType,
)
def show_configuration_effects(
    document: Annotated[dict[str, Any], Body(description="The configuration document.")], request: Request
) -> ConfigurationEffects:
    """Show what a configuration would do.

    Which jobs would be stopped within the hour, which could never start, and which permissions would go. The decisions
    themselves are simulated on the current queue. Nothing is changed.
    """
    return effects_document(container(request).config_effects.of(document, caller(request).account))


@router.call(
    "PUT /config",
    {HTTPStatus.OK: "The configuration, in force."},
    InvalidConfiguration,
    InvalidRequest,
    NotAllowed,
    UnsupportedMediaType,
    ConfigurationChanged,
    VersionRequired,
    headers=_ETAG,
)
def replace_configuration(
    document: Annotated[dict[str, Any], Body(description="The configuration document.")],
    request: Request,
    if_match: IfMatch = None,
    reason: Annotated[
        str | None,
        Query(max_length=MAX_REASON_CHARS, pattern=VISIBLE_LINE, description="The reason, for the history."),
    ] = None,
) -> Response[Configuration]:
    """Replace the configuration.

    Only if its version is still the one that the document is based on: that of `If-Match`, or else the document's own
    `version`.
    """
    given = container(request)
    who = caller(request)
    made_from = _made_from(if_match, configuration.validate(document).version)
    applied = given.config_editor.replace(document, made_from, who.account, author(request, reason))
    logger.info("configuration replaced", extra={"caller": who.arn, "version": applied.version})
    given.wake("configuration changed")
    return _answer(applied)


def _made_from(if_match: str | None, version: int | None) -> int | None:
    """The version that a document was made from; None if it replaces whatever there is.

    Raises:
        VersionRequired: the request names no version.
    """
    if if_match == _ANY:
        return None
    if if_match is not None:
        return int(if_match.strip('"'))
    if version is None:
        raise VersionRequired(
            "the document has no version: start from the newest one (GET /config, `headway config show`), or give the "
            "version (If-Match, `--if-version`), or replace any version (`If-Match: *`, `--force`)"
        )
    return version


def _answer(known: EffectiveConfig) -> Response[Configuration]:
    body = Configuration(
        settings={**known.configuration.model_dump(mode="json"), "version": known.version},
        version=known.version,
    )
    return Response(
        HTTPStatus.OK,
        content_type=content_types.APPLICATION_JSON,
        body=body,
        headers={"ETag": f'"{known.version}"'},
    )
