"""The OpenAPI document of the HTTP API, made from its handlers. ``make openapi`` writes it to ``docs/openapi.json``."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver

from headway_service import __version__
from headway_service.api.nouns import NOUNS, router_of

_DESCRIPTION = """\
The queue of SageMaker training jobs. The API is private, and each method and path is a permission of its own
(`execute-api:Invoke`). API Gateway itself answers 403 (not signed, not allowed, not through the VPC endpoint) and 429
(too fast), with `{"message": ...}`; whatever else is refused has the document of `Refusal`."""

# As API Gateway writes it (developer guide, x-amazon-apigateway-authtype).
_SIGNED = {
    "type": "apiKey",
    "name": "Authorization",
    "in": "header",
    "x-amazon-apigateway-authtype": "awsSigv4",
    "description": "AWS Signature Version 4 for the service `execute-api`.",
}
_ENDPOINT = {
    "default": "https://API_ID.execute-api.REGION.amazonaws.com/v1",
    "description": "The output `ApiEndpoint` of the stack, with the stage.",
}
_SCHEMAS = "#/components/schemas/"


@cache
def document_text() -> str:
    """The document as JSON."""
    return json.dumps(document(), indent=2) + "\n"


@cache
def document() -> dict[str, Any]:
    """The document."""
    # A separate resolver without validation: Powertools then omits its own refusals, which the API answers
    # in another way.
    app = APIGatewayRestResolver()
    for noun in NOUNS:
        app.include_router(router_of(noun))
    made: dict[str, Any] = json.loads(
        app.get_openapi_json_schema(title="Headway", version=__version__, description=_DESCRIPTION)
    )
    made["security"] = [{"sigv4": []}]
    made["components"]["securitySchemes"] = {"sigv4": _SIGNED}
    made["servers"] = [{"url": "{endpoint}", "variables": {"endpoint": _ENDPOINT}}]
    made["paths"] = dict(sorted(made["paths"].items()))
    _drop_titles(made)
    _drop_nulls_of_parameters(made)
    _drop_unused_schemas(made)
    return made


def _drop_titles(part: Any) -> None:
    """Leave out what pydantic and Powertools call members: no more than their names, spoiled."""
    if isinstance(part, dict):
        for each in part.get("properties", {}).values():
            each.pop("title", None)
        if isinstance(part.get("schema"), dict):
            part["schema"].pop("title", None)
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _drop_titles(each)


def _drop_nulls_of_parameters(made: dict[str, Any]) -> None:
    """A parameter is left out or has a value: no text of a URL or a header is null."""
    for call in (call for path in made["paths"].values() for call in path.values()):
        for parameter in call.get("parameters", ()):
            kinds = parameter["schema"].pop("anyOf", None)
            if kinds is not None:
                (kind,) = (each for each in kinds if each != {"type": "null"})
                parameter["schema"] = {**kind, **parameter["schema"]}


def _drop_unused_schemas(made: dict[str, Any]) -> None:
    """Leave out what nothing refers to: Powertools always adds its own refusals."""
    schemas = made["components"]["schemas"]
    used: set[str] = set()
    found = _references(made["paths"])
    while found:
        used |= found
        found = set().union(*(_references(schemas[name]) for name in found)) - used
    made["components"]["schemas"] = {name: schemas[name] for name in sorted(used)}


def _references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {str(part["$ref"]).removeprefix(_SCHEMAS)} if "$ref" in part else set()
        return own.union(*map(_references, part.values()))
    return set().union(*map(_references, part)) if isinstance(part, list) else set()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document_text(), encoding="utf-8")
