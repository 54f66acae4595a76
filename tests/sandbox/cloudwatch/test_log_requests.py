"""Requests that CloudWatch Logs refuses, with its messages."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.cloudwatch import log_requests
from headway_sandbox.errors import AwsError

GROUP = "/aws/sagemaker/TrainingJobs"
ARN = f"arn:aws:logs:eu-west-1:123456789012:log-group:{GROUP}"
EVENT = {"timestamp": 1_000, "message": "m"}


def batch(*events: dict[str, Any]) -> dict[str, Any]:
    return {"logGroupName": GROUP, "logStreamName": "s", "logEvents": list(events)}


@pytest.mark.parametrize(
    ("operation", "request_", "words"),
    [
        ("CreateLogGroup", {"logGroupName": "a b"}, "at 'logGroupName' failed to satisfy constraint"),
        ("CreateLogStream", {"logGroupName": GROUP, "logStreamName": "a:b"}, "at 'logStreamName' failed"),
        ("DescribeLogStreams", {"logGroupName": GROUP, "limit": 51}, "Member must have value less than or equal to 50"),
        ("DescribeLogStreams", {"logGroupName": GROUP, "orderBy": "Age"}, "Member must satisfy enum value set"),
        (
            "DescribeLogStreams",
            {"logGroupName": GROUP, "orderBy": "LastEventTime", "logStreamNamePrefix": "a/"},
            "^InvalidParameterException: Cannot order by LastEventTime with a logStreamNamePrefix.$",
        ),
        ("DescribeLogStreams", {}, "Either logGroupName or logGroupIdentifier"),
        ("GetLogEvents", {"logStreamName": "s"}, "Either logGroupName or logGroupIdentifier"),
        (
            "GetLogEvents",
            {"logGroupName": GROUP, "logGroupIdentifier": ARN, "logStreamName": "s"},
            "Either logGroupName or logGroupIdentifier",
        ),
        ("GetLogEvents", {"logGroupName": GROUP}, "Value null at 'logStreamName'"),
        ("GetLogEvents", {"logGroupName": GROUP, "logStreamName": "s", "limit": 10_001}, "less than or equal to 10000"),
        ("PutLogEvents", batch(), "Member must have length greater than or equal to 1"),
        ("PutLogEvents", batch({**EVENT, "message": ""}), "at 'logEvents.1.member.message'"),
        ("PutLogEvents", batch(EVENT, {**EVENT, "timestamp": 999}), "must be in chronological order"),
        ("PutLogEvents", batch(EVENT, {**EVENT, "timestamp": 86_401_001}), "cannot span more than 24 hours"),
        (
            "PutLogEvents",
            batch({**EVENT, "message": "é" * 524_276}),
            "Upload too large: 1048578 bytes exceeds limit of 1048576",
        ),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused(operation: str, request_: dict[str, Any], words: str):
    with pytest.raises(AwsError, match=words) as caught:
        log_requests.check(operation, request_)
    assert caught.value.code == "InvalidParameterException"


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("DescribeLogStreams", {"logGroupName": GROUP, "logStreamNamePrefix": "job/", "limit": 50}),
        ("DescribeLogStreams", {"logGroupIdentifier": ARN, "orderBy": "LastEventTime", "descending": True}),
        ("GetLogEvents", {"logGroupName": GROUP, "logStreamName": "job/algo-1-1", "startTime": 0, "limit": 10_000}),
        ("PutLogEvents", batch(EVENT, EVENT, {**EVENT, "timestamp": 86_401_000})),
        ("PutLogEvents", batch({**EVENT, "message": "é" * 524_275})),
    ],
)
def test_requests_of_the_sdks_are_accepted(operation: str, request_: dict[str, Any]):
    log_requests.check(operation, request_)


def test_a_wrong_json_type_is_distinguished():
    with pytest.raises(AwsError, match=r"^SerializationException"):
        log_requests.check("GetLogEvents", {"logGroupName": GROUP, "logStreamName": 7})
