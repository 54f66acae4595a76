"""The configuration document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request, Response, content_types
from aws_lambda_powertools.event_handler.openapi.params import Body, Header

from headway.api_documents.pools import Configuration
from headway_service.api.request_context import caller, container, remaining_ms
from headway_service.api.router import DocumentedRouter
from headway_service.config import document as configuration
from headway_service.errors import (
    ConfigurationChanged,
    InvalidConfiguration,
    InvalidRequest,
    NotAllowed,
    UnsupportedMediaType,
    VersionRequired,
)
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, get_with_problem
from headway_service.validation_messages import explained

router = DocumentedRouter("Configuration")

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
    given = container(request)
    return _answer(get_with_problem(given.table, given.store, given.clocks.machine_ms))


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
) -> Response[Configuration]:
    """Replace the configuration.

    Only if its version is still the one that the document is based on: that of `If-Match`, or else the document's own
    `version`.
    """
    given = container(request)
    who = caller(request)
    made_from = _made_from(if_match, configuration.validate(document).version)
    applied = given.config_editor(remaining_ms(request)()).replace(document, made_from, who.account)
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
        problem=known.problem,
    )
    return Response(
        HTTPStatus.OK,
        content_type=content_types.APPLICATION_JSON,
        body=body,
        headers={"ETag": f'"{known.version}"'},
    )
