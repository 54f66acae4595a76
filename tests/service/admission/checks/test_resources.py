"""All that is said of the instances that a request asks for."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.checks.resources import errors
from headway_service.config.document import validate
from tests.service.admission.drafts import draft, told
from tests.service.world import P5, on

CONFIGURATION = validate({"pools": {P5: {"size": 2}}})
SERVERLESS = {"ServerlessJobConfig": {"JobType": "FineTuning"}}
NOT_BOTH = "cannot be combined with InstanceGroups: keep one of the two"
NO_GROUP = "is 0; a group needs at least 1 instance"


def groups(*counts: int, **more: Any) -> dict[str, Any]:
    named = [
        {"InstanceGroupName": f"g{i}", "InstanceType": P5, "InstanceCount": count} for i, count in enumerate(counts)
    ]
    return {"InstanceGroups": named, "VolumeSizeInGB": 30, **more}


ERRORS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("a type and a number", {"ResourceConfig": on(1)}, {}),
    ("groups", {"ResourceConfig": groups(1, 1)}, {}),
    ("groups that are kept for no time", {"ResourceConfig": groups(1, KeepAlivePeriodInSeconds=0)}, {}),
    ("none for a serverless job", {"ResourceConfig": None, **SERVERLESS}, {}),
    (
        "some for a serverless job",
        {"ResourceConfig": {}, **SERVERLESS},
        {"": "cannot be combined with ServerlessJobConfig: keep one of the two"},
    ),
    ("nothing", {"ResourceConfig": None}, {"": "is required: name an instance type and a count"}),
    (
        "neither a type nor a number",
        {"ResourceConfig": {}},
        {
            ".InstanceType": "is required: the pool that the job runs in",
            ".InstanceCount": "is missing; a job needs at least 1 instance",
        },
    ),
    ("no instances", {"ResourceConfig": on(0)}, {".InstanceCount": "is 0; a job needs at least 1 instance"}),
    (
        "an answer of SageMaker, and no instances",
        {"ResourceConfig": {**on(0), "SelectedInstanceCount": 1}},
        {
            ".SelectedInstanceCount": "is part of an answer of SageMaker, not of a request: remove it",
            ".InstanceCount": "is 0; a job needs at least 1 instance",
        },
    ),
    (
        "preferences, of which the number is not asked for once more",
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1}]}},
        {},
    ),
    (
        "no groups",
        {"ResourceConfig": groups()},
        {".InstanceGroups": "is empty: name at least one group"},
    ),
    (
        "groups without instances, with all that they cannot have",
        {"ResourceConfig": groups(0, 1, 0, InstanceType=P5, InstanceCount=1, KeepAlivePeriodInSeconds=1)},
        {
            ".InstanceType": NOT_BOTH,
            ".InstanceCount": NOT_BOTH,
            ".KeepAlivePeriodInSeconds": "asks for a warm pool, which instance groups cannot have: remove it",
            ".InstanceGroups[0].InstanceCount": NO_GROUP,
            ".InstanceGroups[2].InstanceCount": NO_GROUP,
        },
    ),
]


@pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_what_is_said_of_resources(changes: dict[str, Any], expected: dict[str, str]) -> None:
    found = told(errors(draft(CONFIGURATION, **changes)))
    assert found == [(f"ResourceConfig{field}", message) for field, message in expected.items()]
