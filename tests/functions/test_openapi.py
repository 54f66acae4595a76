"""The OpenAPI document: served, published, whole, and true of the answers (see ``published``)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.event_handler.openapi.models import OpenAPI

from headway.lifecycle import TERMINAL
from headway.scheduling.ordering import MAX_PRIORITY
from headway_service.api import openapi
from headway_service.api.times import TIME
from tests.functions import published
from tests.functions.conftest import Functions

DOCUMENT = openapi.document()
GATEWAYS_OWN = {"$ref": "#/components/schemas/GatewayRefusal"}
OPERATIONS = [
    (f"{method.upper()} {path}", operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_the_served_document_equals_the_published_one_and_the_handlers(functions: Functions) -> None:
    text = (Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8")
    assert text == openapi.document_text(), "write it again: make openapi"
    assert functions.http("GET", "/openapi.json") == (200, json.loads(text))


def test_it_is_an_openapi_3_1_document() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    # Powertools' models are the specification's, member by member.
    OpenAPI.model_validate(DOCUMENT)


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        return {part["$ref"]} if "$ref" in part else set().union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_every_reference_resolves_and_every_schema_is_used() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert references(DOCUMENT) == {f"#/components/schemas/{name}" for name in schemas}


def test_a_parameter_is_left_out_or_has_a_value() -> None:
    parameters = [each for _, operation in OPERATIONS for each in operation.get("parameters", ())]
    assert len(parameters) > 50
    assert [each["name"] for each in parameters if "null" in json.dumps(each["schema"])] == []
    since = next(each for each in DOCUMENT["paths"]["/events"]["get"]["parameters"] if each["name"] == "since")
    assert (since["required"], since["schema"]["type"], since["schema"]["pattern"]) == (False, "string", TIME)


@pytest.mark.parametrize("path", ["/actions", "/config/history", "/events"])
def test_the_document_says_what_the_token_of_a_page_looks_like(functions: Functions, path: str) -> None:
    after = next(each for each in DOCUMENT["paths"][path]["get"]["parameters"] if each["name"] == "after")
    assert re.search(after["schema"]["pattern"], "yesterday") is None
    status, answer = functions.http("GET", path, query={"after": ["yesterday"]})
    assert (status, [each["field"] for each in answer["error"]["fields"]]) == (400, ["after"])
    assert "take it from there, or leave it out" in answer["error"]["fields"][0]["message"]


def test_every_call_is_signed() -> None:
    assert DOCUMENT["security"] == [{"sigv4": []}]
    scheme = DOCUMENT["components"]["securitySchemes"]["sigv4"]
    assert (scheme["x-amazon-apigateway-authtype"], scheme["name"]) == ("awsSigv4", "Authorization")
    assert not any("security" in operation for _, operation in OPERATIONS)


@pytest.mark.parametrize("operation", [row[1] for row in OPERATIONS], ids=[row[0] for row in OPERATIONS])
def test_each_operation_has_a_description_and_response_descriptions(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert len(operation["tags"]) == 1
    assert {"500", "503"} < set(operation["responses"])
    assert any(status.startswith("2") for status in operation["responses"])
    for status, response in operation["responses"].items():
        assert response["description"]
        if status == "304":
            assert response["content"] == {}
            continue
        schema = response["content"]["application/json"]["schema"]
        assert schema
        # What API Gateway answers by itself has no header of ours.
        assert ("Headway-Version" in response.get("headers", {})) is (schema != GATEWAYS_OWN)
    assert all(parameter["description"] for parameter in operation.get("parameters", []))


def test_operations_have_unique_ids() -> None:
    ids = [operation["operationId"] for _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)


WRONG = [
    ("another status", ("GET", "/version", 418, "{}"), "told nowhere"),
    ("a member too many", ("GET", "/version", 200, '{"version": "1", "api": 1, "x": 1}'), "Unexpected keyword"),
    ("a member too few", ("GET", "/version", 200, '{"version": "1"}'), "required"),
    ("another type", ("GET", "/version", 200, '{"version": 1, "api": 1}'), "string"),
]


@pytest.mark.parametrize(("answer", "word"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_an_undocumented_answer_is_detected(answer: tuple[str, str, int, str], word: str) -> None:
    with pytest.raises(AssertionError, match=word):
        published.check(*answer)


def test_the_document_says_what_the_validation_says_of_days_states_and_changes() -> None:
    paths, schemas = DOCUMENT["paths"], DOCUMENT["components"]["schemas"]
    days = {each["name"]: each["schema"] for each in paths["/usage"]["get"]["parameters"]}
    assert (days["from"]["format"], days["to"]["format"]) == ("date", "date")
    states = {each["name"]: each["schema"] for each in paths["/history"]["get"]["parameters"]}["state"]
    assert states["items"]["enum"] == sorted(TERMINAL)
    assert schemas["ChangedRequest"]["minProperties"] == 1
    priority = schemas["PriorityChange"]["properties"]["priority"]
    assert (priority["minimum"], priority["maximum"]) == (0, MAX_PRIORITY)
