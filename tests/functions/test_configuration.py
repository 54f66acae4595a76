"""The configuration over HTTP: each change is made on top of the version that it was made from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import http_event
from tests.functions.conftest import ANY_VERSION, Functions
from tests.service.world import P5

OTHER: dict[str, Any] = {"pools": {P5: {"size": 4}}}


def shown(functions: Functions) -> dict[str, Any]:
    status, answer = functions.http("GET", "/config")
    assert status == 200
    return answer


def test_a_configuration_is_shown_with_its_version_and_can_be_set_unchanged(functions: Functions) -> None:
    answer = functions.invoke("api", http_event("GET", "/config"))
    document = json.loads(answer["body"])["document"]
    assert (document["version"], answer["multiValueHeaders"]["ETag"]) == (1, ['"1"'])
    document["pools"][P5]["size"] = 5
    status, changed = functions.http("PUT", "/config", document)
    assert (status, changed["version"], changed["document"]["version"]) == (200, 2, 2)
    assert shown(functions)["document"]["pools"] == {P5: {"size": 5}}


def test_a_configuration_that_is_older_than_a_resize_does_not_undo_it(functions: Functions) -> None:
    document = shown(functions)["document"]
    assert functions.http("PATCH", f"/pools/{P5}", {"size": 3})[0] == 200
    functions.wakes()
    status, refusal = functions.http("PUT", "/config", {**document, "overheadSeconds": 60})
    assert (status, refusal["error"]["code"]) == (412, "ConfigurationChanged")
    assert refusal["error"]["fields"] == [{"field": f"pools.{P5}.size", "message": "2 → 3"}]
    assert shown(functions)["document"]["pools"] == {P5: {"size": 3}}
    assert functions.wakes() == []


@pytest.mark.parametrize(
    ("headers", "version", "status", "code"),
    [
        ({"If-Match": '"1"'}, None, 200, None),
        ({"If-Match": '"1"'}, 7, 200, None),
        ({}, 1, 200, None),
        (ANY_VERSION, 7, 200, None),
        (ANY_VERSION, None, 200, None),
        ({"If-Match": '"2"'}, 1, 412, "ConfigurationChanged"),
        ({}, 2, 412, "ConfigurationChanged"),
        ({}, None, 428, "VersionRequired"),
        ({"If-Match": "1"}, None, 400, "InvalidRequest"),
        ({"If-Match": 'W/"1"'}, None, 400, "InvalidRequest"),
        ({"If-Match": '"1", "2"'}, None, 400, "InvalidRequest"),
        ({}, "1", 400, "InvalidConfiguration"),
        ({}, -1, 400, "InvalidConfiguration"),
        ({}, True, 400, "InvalidConfiguration"),
    ],
    ids=str,
)
def test_the_header_takes_precedence_over_the_documents_version_and_one_is_required(
    functions: Functions, headers: dict[str, str], version: Any, status: int, code: str | None
) -> None:
    document = OTHER if version is None else {**OTHER, "version": version}
    found, answer = functions.http("PUT", "/config", document, headers=headers)
    assert (found, answer.get("error", {}).get("code")) == (status, code)
    assert shown(functions)["document"]["pools"] == (OTHER["pools"] if status == 200 else {P5: {"size": 2}})


def test_errors_of_a_document_are_reported_before_its_version_is_checked(functions: Functions) -> None:
    status, refusal = functions.http("PUT", "/config", {"pools": {}})
    assert (status, refusal["error"]["code"]) == (400, "InvalidConfiguration")
