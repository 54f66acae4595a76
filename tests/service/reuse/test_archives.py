"""An archive of sources is compared by its contents."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from headway_service.reuse import archives
from headway_service.reuse.archives import Unpacking
from headway_service.reuse.request import NotReusable
from tests.service.reuse import hostile


def packed(*members: tuple[str, bytes], at: int = 0, kind: bytes = tarfile.REGTYPE, **fields: object) -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=at) as out, tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.uid, info.gname, info.type = len(content), at, at, f"g{at}", kind
            for field, value in fields.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def contents_digest(content: bytes, unpacking: Unpacking | None = None) -> str:
    return archives.contents_digest(content, unpacking or Unpacking(lambda: True))


ONE = packed(("a.py", b"1"), ("b.py", b"2"))


def test_times_owners_and_the_order_do_not_matter():
    other = packed(("b.py", b"2"), ("a.py", b"1"), at=99)
    assert other != ONE
    assert contents_digest(other) == contents_digest(ONE)


@pytest.mark.parametrize(
    "other",
    [
        packed(("a.py", b"1")),
        packed(("a.py", b"1"), ("b.py", b"3")),
        packed(("a.py", b"1"), ("c.py", b"2")),
        packed(("a.py", b"1"), ("b.py", b"2"), mode=0o755),
        packed(("a.py", b"1"), ("b.py", b"2"), ("b.py", b"4")),
    ],
    ids=["fewer files", "another content", "another name", "another mode", "a file that comes again"],
)
def test_whatever_a_program_may_read_matters(other: bytes):
    assert contents_digest(other) != contents_digest(ONE)


def test_of_a_file_that_comes_twice_the_later_one_counts():
    twice = [("a.py", b"1"), ("a.py", b"2")]
    assert contents_digest(packed(*twice)) != contents_digest(packed(*twice[::-1]))


def test_the_kind_and_the_target_of_a_link_matter():
    links = [packed(("a", b""), kind=tarfile.SYMTYPE, linkname=target) for target in ("b", "c")]
    assert len({contents_digest(each) for each in (*links, packed(("a", b"")))}) == 3


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"no tar"), ONE[:40]],
    ids=["nothing", "no gzip", "no tar", "a part of one"],
)
def test_what_is_no_archive_is_compared_as_it_is(content: bytes):
    digest = contents_digest(content)
    assert digest.startswith("bytes ")
    assert digest != contents_digest(ONE)


def test_archives_of_one_job_that_unpack_to_too_much_are_not_read_to_their_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    unpacking = Unpacking(lambda: True)
    contents_digest(packed(("a", bytes(60_000))), unpacking)
    with pytest.raises(NotReusable, match="unpack to more than 100000 bytes"):
        contents_digest(packed(("a", bytes(60_000))), unpacking)


def test_archives_of_one_job_with_too_many_files_are_not_read_to_their_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    unpacking = Unpacking(lambda: True)
    contents_digest(ONE, unpacking)
    with pytest.raises(NotReusable, match="more than 3 files"):
        contents_digest(ONE, unpacking)


@pytest.mark.parametrize(
    ("content", "reads"),
    [(packed(("a", bytes(1_000_000))), 10), (gzip.compress(b"") * 100_000, 3)],
    ids=["much content", "much without a content"],
)
def test_nothing_is_read_any_more_when_the_time_is_over(content: bytes, reads: int):
    asked: list[bool] = []

    def has_time() -> bool:
        asked.append(True)
        return len(asked) <= reads

    with pytest.raises(NotReusable, match="in time"):
        contents_digest(content, Unpacking(has_time))
    assert len(asked) == reads + 1


def test_whoever_reads_on_behind_the_end_comes_to_an_end(monkeypatch: pytest.MonkeyPatch):
    """The library skips what a member claims to have, block by block, whether there is anything or not."""
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100 * tarfile.BLOCKSIZE)
    unpacking = Unpacking(lambda: True)
    for _ in range(100):
        unpacking.count_bytes(0)
    with pytest.raises(NotReusable):
        unpacking.count_bytes(0)


@pytest.mark.parametrize(
    "content",
    [
        hostile.archives()["a sparse file of GNU tar"],
        hostile.archives()["a sparse file of POSIX"],
        packed(("a", b""), kind=b"Z"),
        packed(("a", b""), kind=tarfile.FIFOTYPE),
        packed(("a", b""), kind=tarfile.CHRTYPE),
    ],
    ids=["sparse, GNU", "sparse, POSIX", "unknown", "a pipe", "a device"],
)
def test_other_members_than_files_folders_and_links_are_not_compared(content: bytes):
    with pytest.raises(NotReusable, match="a sparse file, or what is no file, folder or link"):
        contents_digest(content)


def test_folders_and_links_are_compared():
    kinds = (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)
    assert len({contents_digest(packed(("a", b""), kind=kind)) for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    "what",
    [
        "thousands of names inside each other",
        "thousands of headers inside each other",
        "a header of a million digits",
    ],
)
def test_what_the_library_does_not_get_through_is_compared_as_it_is(what: str):
    assert contents_digest(hostile.archives()[what]).startswith("bytes ")
