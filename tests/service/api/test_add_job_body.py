"""The body of POST /add-job: a request, or the founding article's item with one inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_service.api.add_job_body import training_request_in
from headway_service.errors import InvalidRequest

DETAILS = {"TrainingJobName": "bert", "RoleArn": "role", "Tags": [{"Key": "team", "Value": "vision"}]}
PRIORITY = {"Key": "priority", "Value": "7"}
WITH_PRIORITY = {**DETAILS, "Tags": [*DETAILS["Tags"], PRIORITY]}
NAMELESS = {"RoleArn": "role"}
ITEM = {"jobName": "bert", "entryTime": "2026-11-21 10:00:00", "jobState": "pending", "priority": 7}

ACCEPTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a request itself": (DETAILS, DETAILS),
    "an item with all members": ({**ITEM, "jobDetails": DETAILS}, WITH_PRIORITY),
    "a request as JSON text": ({**ITEM, "jobDetails": json.dumps(DETAILS)}, WITH_PRIORITY),
    "a request alone": ({"jobDetails": DETAILS}, DETAILS),
    "empty members": ({"jobName": None, "priority": None, "jobDetails": DETAILS}, DETAILS),
    "a name that the request does not have": (
        {"jobName": "bert", "jobDetails": NAMELESS},
        {**NAMELESS, "TrainingJobName": "bert"},
    ),
    "a priority as text": ({"priority": "7", "jobDetails": DETAILS}, WITH_PRIORITY),
    "the priority that the tags have": ({"priority": 7, "jobDetails": WITH_PRIORITY}, WITH_PRIORITY),
    "a priority without other tags": ({"priority": 7, "jobDetails": NAMELESS}, {**NAMELESS, "Tags": [PRIORITY]}),
    "a priority that the check of tags refuses": (
        {"priority": 7.5, "jobDetails": NAMELESS},
        {**NAMELESS, "Tags": [{"Key": "priority", "Value": "7.5"}]},
    ),
    "tags that the check of the request refuses": (
        {"priority": 7, "jobDetails": {**NAMELESS, "Tags": "none"}},
        {**NAMELESS, "Tags": "none"},
    ),
}


@pytest.mark.parametrize(("body", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_the_request_is_taken_from_the_body(body: dict[str, Any], expected: dict[str, Any]) -> None:
    before = json.dumps(body)

    assert training_request_in(body) == expected
    assert json.dumps(body) == before


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another name": ({"jobName": "gpt", "jobDetails": DETAILS}, "jobName"),
    "another priority": ({"priority": 8, "jobDetails": WITH_PRIORITY}, "priority"),
    "an unknown member": ({"jobDetails": DETAILS, "queue": "a", "RoleArn": "role"}, "RoleArn"),
    "a request that is a list": ({"jobDetails": [DETAILS]}, "jobDetails"),
    "a request that is JSON of a list": ({"jobDetails": "[]"}, "jobDetails"),
    "a request that is other text": ({"jobDetails": "bert"}, "(the body)"),
    "JSON with two members of one name": ({"jobDetails": '{"RoleArn": "a", "RoleArn": "b"}'}, "(the body)"),
}


@pytest.mark.parametrize(("body", "field"), REFUSED.values(), ids=REFUSED)
def test_a_body_that_contradicts_itself_is_refused_with_the_field_to_change(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        training_request_in(body)

    assert [each.field for each in caught.value.fields] == [field]
