"""Archives and hyperparameters that were made to harm whoever reads them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

HUGE = 2**62
"""A size that no archive has, bytes."""

END = bytes(2 * tarfile.BLOCKSIZE)


def header(name: str, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def block(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


def gnu_sparse(size: int) -> bytes:
    """A file of which GNU tar has stored nothing but its size."""
    made = bytearray(header("a", tarfile.GNUTYPE_SPARSE, 0))
    zero, whole = (b"\x80" + number.to_bytes(11, "big") for number in (0, size))
    made[386:410], made[483:495], made[148:156] = zero * 2, whole, b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


def pax(records: Mapping[str, str]) -> bytes:
    """A header whose records count for the next member."""
    lines = [f" {key}={value}\n" for key, value in records.items()]
    # Each begins with its own length, of two digits here.
    body = "".join(f"{len(line) + 2}{line}" for line in lines).encode()
    return header("p", tarfile.XHDTYPE, len(body)) + block(body)


def posix_sparse(size: int) -> bytes:
    """The same in the format of POSIX: the map of the file comes with its content."""
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(size)}
    return pax(records) + header("a", tarfile.REGTYPE, tarfile.BLOCKSIZE) + block(b"1\n0\n0\n")


def many_files(count: int) -> bytes:
    with io.BytesIO() as stream:
        for i in range(count):
            stream.write(header(f"{i}", tarfile.REGTYPE, 0))
        return stream.getvalue()


TARS: dict[str, bytes] = {
    "a sparse file of GNU tar": gnu_sparse(HUGE),
    "a sparse file of POSIX": posix_sparse(HUGE),
    "an unknown member longer than the archive": header("a", b"Z", HUGE) + header("b", tarfile.REGTYPE, 0),
    "a file longer than the archive": header("a", tarfile.REGTYPE, HUGE),
    "a folder with a size": header("a", tarfile.DIRTYPE, HUGE),
    "a link with a size": pax({"size": str(HUGE)}) + header("a", tarfile.SYMTYPE, 0),
    "a negative size": pax({"size": str(-HUGE)}) + header("a", tarfile.REGTYPE, 0),
    "an unknown member of negative size": header("a", b"Z", -1024),
    "a name longer than the archive": header("a", tarfile.GNUTYPE_LONGNAME, HUGE),
    "thousands of names inside each other": 3000 * (header("a", tarfile.GNUTYPE_LONGNAME, 1) + block(b"x")),
    "thousands of headers inside each other": 3000 * pax({"path": "x"}),
    "a header of a million digits": header("p", tarfile.XHDTYPE, 1 << 20) + b"9" * (1 << 20),
    "too many files": many_files(10_001),
    "too much content": header("a", tarfile.REGTYPE, 65 << 20) + bytes(65 << 20),
    "nothing": b"",
}
"""By what is wrong with them, without the zeros at their ends."""


def archives() -> dict[str, bytes]:
    """The same, packed, and some that are no archives."""
    packed = {what: gzip.compress(tar + END, compresslevel=1) for what, tar in TARS.items()}
    return {
        **packed,
        "a part of an archive": packed["too many files"][:1000],
        "thousands of empty parts": gzip.compress(b"") * 20_000,
        "no archive": b"\x1f\x8b" + bytes(100),
    }


DIRECTORIES: dict[str, str] = {
    "half a surrogate pair in JSON": '"s3://data/\\ud800"',
    "lists inside each other": "[" * 2500,
    "objects inside each other": '{"a":' * 400,
    "a number of 2,500 digits": "9" * 2500,
    "a NUL": "s3://data/\x00",
    "a NUL in JSON": '"s3://data/\\u0000"',
    "no bucket": '"s3://"',
    "no valid bucket": '"s3://../x"',
    "a bucket that nobody has": '"s3://nobody/x.tar.gz"',
    "a key longer than S3 has": f'"s3://data/{"k" * 2400}"',
    "a line break": '"s3://data/a\\nb"',
    "a quotation mark": '"s3://data/a"b"',
}
"""Values of the hyperparameter that names the archive of the sources."""
