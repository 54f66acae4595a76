"""Objects in S3: one contract for S3's answers, for which moto stands, and for the double in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from headway_service.aws.s3_objects import S3Objects
from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import Objects
from headway_service.testing import memory_objects
from headway_service.testing.memory_objects import MemoryObjects
from tests.service.raw_http import BODIES, RawServer

BUCKET = "research"


def client() -> Any:
    return boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")


class Subject(NamedTuple):
    """Objects, and the functions that write and remove one."""

    objects: Objects
    put: Callable[[str, bytes], object]
    delete: Callable[[str], object]


def in_moto() -> Subject:
    s3 = client()
    s3.create_bucket(Bucket=BUCKET)
    return Subject(
        S3Objects(s3),
        lambda key, content: s3.put_object(Bucket=BUCKET, Key=key, Body=content),
        lambda key: s3.delete_object(Bucket=BUCKET, Key=key),
    )


def in_memory() -> Subject:
    objects = MemoryObjects({BUCKET: {}})
    return Subject(
        objects, lambda key, content: objects.put(BUCKET, key, content), lambda key: objects.delete(BUCKET, key)
    )


@pytest.fixture(params=[in_moto, in_memory], ids=["S3", "memory"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with mock_aws():
        yield request.param()


class TestContract:
    def test_objects_are_listed_by_the_beginning_of_their_keys(self, subject: Subject) -> None:
        for key in ("b/2", "b/1 ä", "a", "b"):
            subject.put(key, b"12")
        page = subject.objects.list(BUCKET, "b/")
        assert ([each.key for each in page.objects], page.next_token) == (["b/1 ä", "b/2"], None)
        assert {each.size for each in page.objects} == {2}
        assert [each.key for each in subject.objects.list(BUCKET, "").objects] == ["a", "b", "b/1 ä", "b/2"]
        assert subject.objects.list(BUCKET, "c").objects == ()

    def test_an_etag_differs_with_the_content_only(self, subject: Subject) -> None:
        etags = []
        for content in (b"1", b"2", b"1"):
            subject.put("a", content)
            etags.append(subject.objects.list(BUCKET, "a").objects[0].etag)
        assert etags[0] == etags[2] != etags[1]

    def test_a_long_listing_has_pages(self, subject: Subject) -> None:
        for i in range(memory_objects.PAGE + 1):
            subject.put(f"{i:04}", b"")
        first = subject.objects.list(BUCKET, "")
        assert len(first.objects) == memory_objects.PAGE
        rest = subject.objects.list(BUCKET, "", first.next_token)
        assert ([each.key for each in rest.objects], rest.next_token) == (["1000"], None)

    def test_the_content_is_read_that_was_listed(self, subject: Subject) -> None:
        subject.put("a", b"12")
        etag = subject.objects.list(BUCKET, "a").objects[0].etag
        assert subject.objects.read(BUCKET, "a", etag, 2) == b"12"
        with pytest.raises(ObjectsUnreadable):
            subject.objects.read(BUCKET, "a", etag, 1)
        subject.put("a", b"13")
        with pytest.raises(ObjectsUnreadable):
            subject.objects.read(BUCKET, "a", etag, 2)
        subject.delete("a")
        with pytest.raises(ObjectsUnreadable):
            subject.objects.read(BUCKET, "a", etag, 2)

    def test_a_bucket_that_does_not_exist_is_unreadable(self, subject: Subject) -> None:
        with pytest.raises(ObjectsUnreadable):
            subject.objects.list("other", "")
        with pytest.raises(ObjectsUnreadable):
            subject.objects.read("other", "a", '"e"', 1)


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


def behind(server: RawServer) -> S3Objects:
    return S3Objects(server.client("s3"))


LISTED = (
    "<Contents><Key>a</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>1</Size></Contents>"
)


def listing(content: str = LISTED, end: str = "<IsTruncated>false</IsTruncated>", name: str = BUCKET) -> bytes:
    return f"<ListBucketResult><Name>{name}</Name>{end}{content}</ListBucketResult>".encode()


def test_a_listing_is_read_as_s3_sends_it(server: RawServer) -> None:
    server.answer(200, listing())
    (found,) = behind(server).list(BUCKET, "a").objects
    assert (found.key, found.etag, found.size, found.modified_ms) == ("a", "e", 1, 1_767_225_600_000)


@pytest.mark.parametrize("member", ["Key", "LastModified", "ETag", "Size"])
def test_an_object_without_a_member_is_unreadable(server: RawServer, member: str) -> None:
    begin, end = LISTED.index(f"<{member}>"), LISTED.index(f"</{member}>") + len(member) + 3
    server.answer(200, listing(LISTED[:begin] + LISTED[end:]))
    with pytest.raises(ObjectsUnreadable):
        behind(server).list(BUCKET, "a")


@pytest.mark.parametrize("end", ["", "<IsTruncated>true</IsTruncated>"])
def test_a_listing_without_its_end_or_its_next_page_is_unreadable(server: RawServer, end: str) -> None:
    server.answer(200, listing(end=end))
    with pytest.raises(ObjectsUnreadable):
        behind(server).list(BUCKET, "a")


def test_a_listing_of_another_bucket_is_unreadable(server: RawServer) -> None:
    server.answer(200, listing(name="other"))
    with pytest.raises(ObjectsUnreadable):
        behind(server).list(BUCKET, "a")


@pytest.mark.parametrize("status", [200, 302, 403, 503])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_proxys_page_is_no_listing(server: RawServer, status: int, body: bytes) -> None:
    server.answer(status, body)
    with pytest.raises(ObjectsUnreadable):
        behind(server).list(BUCKET, "a")


@pytest.mark.parametrize("header", ["ETag", "X-Other"])
def test_a_content_with_another_etag_or_none_is_unreadable(server: RawServer, header: str) -> None:
    server.answer(200, b"12", promised=0, **{header: "other"})
    with pytest.raises(ObjectsUnreadable):
        behind(server).read(BUCKET, "a", "e", 2)


def test_a_content_of_another_size_is_unreadable(server: RawServer) -> None:
    server.answer(200, b"12", ETag="e")
    assert behind(server).read(BUCKET, "a", "e", 2) == b"12"
    for size in (1, 3):
        with pytest.raises(ObjectsUnreadable):
            behind(server).read(BUCKET, "a", "e", size)


def test_a_content_that_breaks_off_is_unreadable(server: RawServer) -> None:
    server.answer(200, b"1", promised=2, ETag="e")
    with pytest.raises(ObjectsUnreadable):
        behind(server).read(BUCKET, "a", "e", 2)


@pytest.mark.parametrize("code", ["AccessDenied", "SlowDown", "NoSuchKey", "Surprise"])
def test_every_error_means_unreadable(code: str) -> None:
    s3 = client()
    with Stubber(s3) as stubber:
        stubber.add_client_error("list_objects_v2", code, http_status_code=400)
        stubber.add_client_error("get_object", code, http_status_code=400)
        with pytest.raises(ObjectsUnreadable, match=code):
            S3Objects(s3).list(BUCKET, "a")
        with pytest.raises(ObjectsUnreadable, match=code):
            S3Objects(s3).read(BUCKET, "a", "e", 1)


def test_no_answer_means_unreadable() -> None:
    class Lost:
        def list_objects_v2(self, **_: Any) -> Any:
            raise EndpointConnectionError(endpoint_url="https://s3.invalid")

    with pytest.raises(ObjectsUnreadable):
        S3Objects(Lost()).list(BUCKET, "a")  # type: ignore[arg-type]
