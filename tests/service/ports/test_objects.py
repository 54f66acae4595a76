"""Locations in S3."""

from __future__ import annotations

import pytest

from headway_service.ports.objects import Location


@pytest.mark.parametrize(
    ("uri", "bucket", "key"),
    [("s3://a", "a", ""), ("s3://a/", "a", ""), ("s3://a/b c\n/d", "a", "b c\n/d"), ("s3://a/ä?c#d/", "a", "ä?c#d/")],
)
def test_a_uri_names_a_bucket_and_a_key(uri: str, bucket: str, key: str) -> None:
    assert Location.of_uri(uri) == Location(bucket=bucket, key=key)


@pytest.mark.parametrize("uri", ["", "a", "a/s3://b", "https://s3.amazonaws.com/a/b", "s3://", "s3:///b"])
def test_another_uri_names_no_location(uri: str) -> None:
    assert Location.of_uri(uri) is None
