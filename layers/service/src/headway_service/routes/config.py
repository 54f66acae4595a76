"""The configuration document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body

from headway_service import answers
from headway_service.errors import InvalidConfiguration, InvalidRequest, NotAllowed, UnsupportedMediaType
from headway_service.log import logger
from headway_service.pools import InForce, current
from headway_service.routes.calls import Calls
from headway_service.routes.given import caller, remaining_ms, services

router = Calls("Configuration")


@router.call("GET /config", {HTTPStatus.OK: "The configuration."})
def show_configuration(asked: Request) -> answers.ConfigurationInForce:
    """Show the configuration in force."""
    given = services(asked)
    return _document(current(given.table, given.store, given.clock))


@router.call(
    "PUT /config",
    {HTTPStatus.OK: "The configuration, in force."},
    InvalidConfiguration,
    InvalidRequest,
    NotAllowed,
    UnsupportedMediaType,
)
def replace_configuration(
    document: Annotated[dict[str, Any], Body(description="The configuration document.")], asked: Request
) -> answers.ConfigurationInForce:
    """Replace the configuration."""
    given = services(asked)
    who = caller(asked)
    applied = given.editor(remaining_ms(asked)()).replace(document)
    logger.info("configuration replaced", extra={"caller": who.arn, "version": applied.version})
    given.wake("configuration changed")
    return _document(applied)


def _document(known: InForce) -> answers.ConfigurationInForce:
    return {
        "document": known.configuration.model_dump(mode="json"),
        "version": known.version,
        "problem": known.problem,
    }
