"""A stack policy is evaluated as CloudFormation documents it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.emulator.stack_policy import refusal

ALL = {"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}
NOT_THE_TABLE = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": ["Update:Replace"],
    "Resource": "LogicalResourceId/Table",
}
NO_TABLE = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "Update:Replace",
    "Resource": "*",
    "Condition": {"StringEquals": {"ResourceType": ["AWS::DynamoDB::Table"]}},
}
ALL_BUT_REPLACING = {"Effect": "Allow", "Principal": "*", "NotAction": "Update:Replace", "Resource": "*"}


@pytest.mark.parametrize(
    ("statements", "action", "said"),
    [
        ([ALL], "Update:Replace", None),
        ([ALL, NOT_THE_TABLE], "Update:Modify", None),
        ([ALL, NOT_THE_TABLE], "Update:Replace", "Statement [#2] does not allow [Update:Replace]"),
        ([NOT_THE_TABLE, ALL], "Update:Replace", "Statement [#1] does not allow [Update:Replace]"),
        ([NO_TABLE, ALL], "Update:Replace", "Statement [#1] does not allow [Update:Replace]"),
        ([ALL_BUT_REPLACING], "Update:Modify", None),
        ([ALL_BUT_REPLACING], "Update:Replace", "no statement allows [Update:Replace]"),
        ([], "Update:Modify", "no statement allows [Update:Modify]"),
    ],
)
def test_a_denial_overrides_and_calls_without_permission_are_denied(
    statements: list[dict[str, Any]], action: str, said: str | None
):
    policy = json.dumps({"Statement": statements})
    found = refusal(policy, action=action, logical_id="Table", resource_type="AWS::DynamoDB::Table")
    assert found is None if said is None else found is not None and said in found


def test_a_denial_applies_to_its_resources():
    policy = json.dumps({"Statement": [ALL, NOT_THE_TABLE, NO_TABLE]})
    assert refusal(policy, action="Update:Replace", logical_id="Queue", resource_type="AWS::SQS::Queue") is None


def test_a_stack_without_a_policy_can_be_updated():
    assert refusal("", action="Update:Replace", logical_id="Table", resource_type="AWS::DynamoDB::Table") is None
