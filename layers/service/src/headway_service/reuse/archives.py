"""The contents of an archive of sources, without what differs each time that it is packed. Pure."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib

from headway_service.reuse.request import NotReusable

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""The most that an archive may unpack to, bytes: so much is read within a second or two."""

MAX_MEMBERS = 10_000
"""The most files and folders in an archive."""

_BLOCK_BYTES = 64 * 1024
_NO_ARCHIVE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def contents_digest(packed: bytes) -> str:
    """A digest of the contents of a ``tar.gz``: names, kinds, modes, targets of links, and bytes.

    Times and owners are no part of it, nor is the order of the members. What is no such archive is digested as it is.

    Args:
        packed: the archive.

    Raises:
        NotReusable: it unpacks to more than the limits.
    """
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacked,
            tarfile.open(fileobj=_Limited(unpacked), mode="r|") as archive,
        ):
            members = [_member(archive, each, i) for i, each in enumerate(archive)]
    except _NO_ARCHIVE:
        return f"bytes {hashlib.sha256(packed).hexdigest()}"
    # Of two members with one name the later one counts, and sorting is stable.
    return f"archive {hashlib.sha256(repr(sorted(members, key=lambda each: each[0])).encode()).hexdigest()}"


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, number: int) -> tuple[str, ...]:
    if number >= MAX_MEMBERS:
        raise NotReusable(f"its archive of sources has more than {MAX_MEMBERS} files")
    content = archive.extractfile(member) if member.isreg() else None
    digest = hashlib.sha256()
    while content and (block := content.read(_BLOCK_BYTES)):
        digest.update(block)
    mode = f"{member.mode & 0o7777:o}"
    return member.name, member.type.decode("latin-1"), mode, member.linkname, digest.hexdigest()


class _Limited(io.RawIOBase):
    """A stream that may be read up to a limit."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int = -1) -> bytes:
        """See :meth:`io.RawIOBase.read`."""
        content = self._stream.read(size if 0 <= size <= self._left else self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise NotReusable(f"its archive of sources unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        return content
