"""An archive of sources is compared by its contents."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from headway_service.reuse import archives
from headway_service.reuse.archives import contents_digest
from headway_service.reuse.request import NotReusable


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


def test_an_archive_that_unpacks_to_too_much_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    contents_digest(packed(("a", bytes(80_000))))
    with pytest.raises(NotReusable, match="unpacks to more than 100000 bytes"):
        contents_digest(packed(("a", bytes(200_000))))


def test_an_archive_with_too_many_files_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    contents_digest(ONE)
    with pytest.raises(NotReusable, match="more than 2 files"):
        contents_digest(packed(("a", b""), ("b", b""), ("c", b"")))
