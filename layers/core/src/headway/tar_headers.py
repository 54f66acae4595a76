"""Headers of tar archives that other people wrote, bounded.

Extended headers, which hold long names and what POSIX adds, are parsed by regular expressions. Those of Python before
3.11.10 and 3.12.6 take a time that grows with the square of a header (CVE-2024-6232): a mebibyte of digits, which is a
kilobyte when it is packed, takes half an hour.
"""

from __future__ import annotations

import tarfile
from typing import Self

MAX_EXTENDED_HEADER_BYTES = 8 * 1024
"""The longest extended header: a path of Linux has at most 4,096 bytes. One of digits takes a tenth of a second."""

MAX_EXTENDED_BYTES = 1024 * 1024
"""The most bytes that the extended headers of an archive have in all."""

MAX_HEADERS = 100_000
"""The most headers in an archive, extended ones among them."""

_EXTENDED = {
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}


def bounded_headers() -> type[tarfile.TarInfo]:
    """A class of members for one archive: give it to :func:`tarfile.open` as ``tarinfo``.

    Reading a header beyond the limits raises :class:`tarfile.ReadError`.
    """

    class Bounded(tarfile.TarInfo):
        headers_left = MAX_HEADERS
        extended_bytes_left = MAX_EXTENDED_BYTES

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            header = super().frombuf(buf, encoding, errors)
            cls.headers_left -= 1
            if cls.headers_left < 0:
                raise tarfile.ReadError(f"it has more than {MAX_HEADERS} headers")
            if header.type in _EXTENDED:
                cls.extended_bytes_left -= header.size
                if not 0 <= header.size <= MAX_EXTENDED_HEADER_BYTES or cls.extended_bytes_left < 0:
                    raise tarfile.ReadError(
                        f"it has an extended header of {header.size} bytes; one may have {MAX_EXTENDED_HEADER_BYTES}, "
                        f"and all of them {MAX_EXTENDED_BYTES}"
                    )
            return header

    return Bounded
