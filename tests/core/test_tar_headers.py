import io
import tarfile
from typing import Literal

import pytest

from headway import tar_headers
from headway.tar_headers import bounded_headers


def extended(kind: bytes, content: bytes) -> bytes:
    header = tarfile.TarInfo("h")
    header.type, header.size = kind, len(content)
    return header.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def names(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed + bytes(1024)), mode="r:", tarinfo=bounded_headers()) as archive:
        return archive.getnames()


FILE = tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("layout", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["GNU", "POSIX"])
def test_a_path_as_long_as_linux_allows_is_read(layout: Literal[1, 2]):
    path = "/".join(["folder" * 40] * 17)[:4095]
    assert names(tarfile.TarInfo(path).tobuf(layout)) == [path]


@pytest.mark.parametrize(
    "kind",
    [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK],
)
@pytest.mark.parametrize("first", [b"", FILE], ids=["as the first", "as a later one"])
def test_an_extended_header_that_is_too_long_is_not_read(kind: bytes, first: bytes):
    digits = b"9" * (tar_headers.MAX_EXTENDED_HEADER_BYTES + 1)
    with pytest.raises(tarfile.ReadError, match="an extended header of 8193 bytes; one may have 8192"):
        names(first + extended(kind, digits) + FILE)


def test_an_extended_header_of_negative_size_is_not_read():
    header = tarfile.TarInfo("h")
    header.type, header.size = tarfile.XHDTYPE, -512
    with pytest.raises(tarfile.ReadError, match="of -512 bytes"):
        names(FILE + header.tobuf(tarfile.GNU_FORMAT) + FILE)


def test_all_extended_headers_of_an_archive_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tar_headers, "MAX_EXTENDED_BYTES", 20)
    one = extended(tarfile.XHDTYPE, b"10 path=b\n") + FILE
    assert names(one + one) == ["b", "b"]
    with pytest.raises(tarfile.ReadError, match="and all of them 20"):
        names(one + one + one)


def test_headers_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tar_headers, "MAX_HEADERS", 3)
    assert names(FILE * 3) == ["a"] * 3
    with pytest.raises(tarfile.ReadError, match="more than 3 headers"):
        names(FILE * 4)


def test_what_one_archive_takes_no_other_one_lacks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tar_headers, "MAX_HEADERS", 3)
    assert [names(FILE * 3) for _ in range(2)] == [["a"] * 3] * 2
