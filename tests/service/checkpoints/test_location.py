"""Where the checkpoints of a job are, by its request."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.checkpoints.location import checkpoints_of
from headway_service.ports.objects import Location


@pytest.mark.parametrize(
    ("uri", "bucket", "key"),
    [
        ("s3://research/run-1", "research", "run-1/"),
        ("s3://research/a/run-1/", "research", "a/run-1/"),
        ("s3://research/a//", "research", "a/"),
        ("s3://research/ä b?c#d", "research", "ä b?c#d/"),
        ("s3://research", "research", ""),
        ("s3://research/", "research", ""),
    ],
)
def test_a_location_is_a_folder_of_a_bucket(uri: str, bucket: str, key: str) -> None:
    found = checkpoints_of({"CheckpointConfig": {"S3Uri": uri}})
    assert found == Location(bucket=bucket, key=key)


@pytest.mark.parametrize(
    "request_document",
    [
        {},
        {"CheckpointConfig": None},
        {"CheckpointConfig": {}},
        {"CheckpointConfig": {"S3Uri": "https://s3.amazonaws.com/research/a"}},
        {"CheckpointConfig": {"S3Uri": "research/a"}},
        {"CheckpointConfig": {"S3Uri": "s3:///a"}},
    ],
    ids=["none", "null", "without a URI", "https", "without a scheme", "without a bucket"],
)
def test_without_a_location_in_s3_there_is_none(request_document: dict[str, Any]) -> None:
    assert checkpoints_of(request_document) is None
