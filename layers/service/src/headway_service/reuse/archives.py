"""The contents of an archive of sources, without what differs each time that it is packed.

Whoever submits a job writes the archive. So what is unpacked is bounded for each job, and nothing is done for what an
archive only claims to have: the holes of a sparse file, or a member that is longer than the archive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from typing import Protocol

from headway.tar_headers import bounded_headers
from headway_service.reuse.request import NotReusable

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""The most that the archives of one job may unpack to, bytes: so much is read within a second or two."""

MAX_MEMBERS = 10_000
"""The most files and folders in these archives."""

_BLOCK_BYTES = 64 * 1024


class Unpacking:
    """What may be unpacked for one job.

    Args:
        has_time: whether there is time for more.
    """

    def __init__(self, has_time: Callable[[], bool]) -> None:
        self._has_time = has_time
        self._bytes_left = MAX_UNPACKED_BYTES
        self._members_left = MAX_MEMBERS

    def require_time(self) -> None:
        """Check that there is time to go on.

        Raises:
            NotReusable: there is none.
        """
        if not self._has_time():
            raise NotReusable("its archives of sources could not be unpacked in time")

    def count_bytes(self, count: int) -> None:
        """Count what was unpacked.

        Args:
            count: so many bytes. Nothing counts as a block, so that whoever reads on behind the end comes to an end.

        Raises:
            NotReusable: that is more than the limit.
        """
        self._bytes_left -= count or tarfile.BLOCKSIZE
        if self._bytes_left < 0:
            raise NotReusable(f"its archives of sources unpack to more than {MAX_UNPACKED_BYTES} bytes")

    def count_member(self) -> None:
        """Count a member.

        Raises:
            NotReusable: there are more than the limit.
        """
        self._members_left -= 1
        if self._members_left < 0:
            raise NotReusable(f"its archives of sources have more than {MAX_MEMBERS} files")


def contents_digest(packed: bytes, unpacking: Unpacking) -> str:
    """A digest of the contents of a ``tar.gz``: names, kinds, modes, targets of links, and bytes.

    Times and owners are no part of it, nor is the order of the members. What is no such archive is digested as it is.

    Args:
        packed: the archive.
        unpacking: what may be unpacked for the job.

    Raises:
        NotReusable: it unpacks to more than the limits, or has other members than files, folders and links.
    """
    try:
        with (
            gzip.GzipFile(fileobj=_Packed(io.BytesIO(packed), unpacking)) as unpacked,
            tarfile.open(fileobj=_Unpacked(unpacked, unpacking), mode="r|", tarinfo=bounded_headers()) as archive,
        ):
            members = [_member(archive, each, unpacking) for each in archive]
    except NotReusable:
        raise
    except Exception:  # noqa: BLE001 - whatever the libraries cannot read of it, its bytes are what they are
        return f"bytes {hashlib.sha256(packed).hexdigest()}"
    # Of two members with one name the later one counts, and sorting is stable.
    return f"archive {hashlib.sha256(repr(sorted(members, key=lambda each: each[0])).encode()).hexdigest()}"


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, unpacking: Unpacking) -> tuple[str, ...]:
    unpacking.count_member()
    # The library makes up the holes of a sparse file, however long they are.
    if member.issparse() or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise NotReusable("its archive of sources has a sparse file, or what is no file, folder or link")
    content = archive.extractfile(member) if member.isreg() else None
    digest = hashlib.sha256()
    while content and (block := content.read(_BLOCK_BYTES)):
        digest.update(block)
    mode = f"{member.mode & 0o7777:o}"
    return member.name, member.type.decode("latin-1"), mode, member.linkname, digest.hexdigest()


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Packed(io.RawIOBase):
    """An archive, which is read while there is time: of thousands of empty parts nothing comes out meanwhile."""

    def __init__(self, stream: _Readable, unpacking: Unpacking) -> None:
        self._stream = stream
        self._unpacking = unpacking

    def read(self, size: int = -1) -> bytes:
        """See :meth:`io.RawIOBase.read`."""
        self._unpacking.require_time()
        return self._stream.read(size)


class _Unpacked(io.RawIOBase):
    """What comes out of it, of which the job's limits are taken."""

    def __init__(self, stream: _Readable, unpacking: Unpacking) -> None:
        self._stream = stream
        self._unpacking = unpacking

    def read(self, size: int = -1) -> bytes:
        """See :meth:`io.RawIOBase.read`."""
        self._unpacking.require_time()
        content = self._stream.read(size if size >= 0 else _BLOCK_BYTES)
        self._unpacking.count_bytes(len(content))
        return content
