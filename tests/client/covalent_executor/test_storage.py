"""The results of tasks in S3."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

import boto3
import pytest

from headway_covalent import storage
from headway_covalent.errors import MissingSetting, NoResult, NotStored
from headway_covalent.run_task import RESULT
from headway_covalent.storage import TaskStorage
from headway_covalent.task import Task
from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import REGION

KEY = f"{BUCKET}/covalent/t-1/output/model.tar.gz"


def archive(files: Mapping[str, bytes | None]) -> bytes:
    """Return an archive of files, and of folders for None."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if content is None:
                member.type = tarfile.DIRTYPE
            member.size = len(content or b"")
            made.addfile(member, io.BytesIO(content or b""))
    return packed.getvalue()


@pytest.fixture
def results(aws: AwsStub) -> TaskStorage:
    return TaskStorage(boto3.client("s3", endpoint_url=aws.url, region_name=REGION), f"s3://{BUCKET}/covalent/")


def test_a_result_is_read_from_the_model_of_the_attempt(results: TaskStorage, aws: AwsStub):
    aws.objects[KEY] = archive({"other": b"x", RESULT: b"pickled"})
    assert results.result("t-1") == b"pickled"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: An error occurred (404)"),
        (archive({"weights": b"x"}), "has no result.pkl"),
        (archive({RESULT: b"pickled" * 100})[:40], "has no result.pkl"),
        (b"no archive", "has no result.pkl"),
        (archive({RESULT: None}), "it is no file"),
    ],
    ids=["no archive", "another file", "a part of an archive", "something else", "a folder"],
)
def test_a_job_without_a_result_is_named(results: TaskStorage, aws: AwsStub, content: bytes | None, sentence: str):
    if content is not None:
        aws.objects[KEY] = content
    with pytest.raises(NoResult, match=f"s3://{BUCKET}/covalent/t-1/output/model.tar.gz.*") as raised:
        results.result("t-1")
    assert sentence in str(raised.value)


def test_a_damaged_archive_raises_no_other_error(results: TaskStorage, aws: AwsStub):
    whole, refused = archive({RESULT: b" ".join(str(number).encode() for number in range(40_000))}), 0
    for position in range(10, len(whole), 150):
        aws.objects[KEY] = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        try:
            results.result("t-1")
        except NoResult:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(("limit", "fits"), [(1000, True), (999, False)])
def test_a_result_has_a_largest_size_when_it_is_unpacked(
    results: TaskStorage, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, limit: int, fits: bool
):
    monkeypatch.setattr(storage, "MAX_RESULT_BYTES", limit)
    aws.objects[KEY] = archive({RESULT: bytes(1000)})
    assert len(aws.objects[KEY]) < limit
    if fits:
        assert results.result("t-1") == bytes(1000)
    else:
        with pytest.raises(NoResult, match="has 1000 bytes, more than 999: let the task store large data in S3"):
            results.result("t-1")


@pytest.mark.parametrize("size", [-1, -512, 10**6, 2**62])
def test_a_header_that_lies_about_its_size_raises_no_other_error(results: TaskStorage, aws: AwsStub, size: int):
    member = tarfile.TarInfo(RESULT)
    member.size = size
    aws.objects[KEY] = gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(NoResult):
        results.result("t-1")


@pytest.mark.parametrize(("length", "count"), [(2**20, 1), (10, 3000)], ids=["a long one", "one after the other"])
def test_extended_headers_without_end_raise_no_other_error(results: TaskStorage, aws: AwsStub, length: int, count: int):
    header = tarfile.TarInfo("h")
    header.type, header.size = tarfile.XHDTYPE, length
    digits = b"9" * length + bytes(-length % tarfile.BLOCKSIZE)
    aws.objects[KEY] = gzip.compress((header.tobuf(tarfile.GNU_FORMAT) + digits) * count + bytes(1024))
    with pytest.raises(NoResult):
        results.result("t-1")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_to_itself_is_no_result(results: TaskStorage, aws: AwsStub, kind: bytes):
    member = tarfile.TarInfo(RESULT)
    member.type, member.linkname = kind, RESULT
    aws.objects[KEY] = gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(NoResult, match="it is no file"):
        results.result("t-1")


def test_what_an_archive_unpacks_to_has_a_largest_size(
    results: TaskStorage, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
):
    aws.objects[KEY] = archive({RESULT: b"x", "other": bytes(100_000)})
    assert results.result("t-1") == b"x"
    monkeypatch.setattr(storage, "MAX_UNPACKED_BYTES", 100_000)
    with pytest.raises(NoResult, match="more than 100000"):
        results.result("t-1")


def test_an_archive_has_a_largest_size(results: TaskStorage, aws: AwsStub, monkeypatch: pytest.MonkeyPatch):
    aws.objects[KEY] = archive({RESULT: b"x"})
    monkeypatch.setattr(storage, "MAX_RESULT_BYTES", len(aws.objects[KEY]) - 1)
    with pytest.raises(NoResult, match="let the task store large data in S3"):
        results.result("t-1")


def test_a_task_that_s3_does_not_take_is_named(aws: AwsStub):
    s3 = boto3.client("s3", endpoint_url=aws.url, region_name=REGION)
    with pytest.raises(NotStored, match=r"s3://no bucket/covalent/t/task/task\.json cannot be written: "):
        TaskStorage(s3, "s3://no bucket/covalent").put("t", Task(function="", args=(), kwargs={}, python="3.11"))


@pytest.mark.parametrize("uri", ["team-bucket/covalent", "https://team-bucket/covalent", "s3:///covalent"])
def test_a_place_that_is_not_in_s3_is_refused(uri: str):
    with pytest.raises(MissingSetting, match="give an URI such as s3://bucket/covalent"):
        TaskStorage(None, uri)
