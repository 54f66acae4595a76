"""Archives: valid ones, bombs, members that are none, headers that lie."""

from __future__ import annotations

import gzip
import tarfile
import zlib

from hypothesis import strategies as st

from headway_verification.decoders.inputs.damage import damaged
from headway_verification.decoders.inputs.values import texts

_KINDS = st.sampled_from(
    [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE,
     tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.CONTTYPE, b"\x00",
     b"Z"]
)  # fmt: skip

_SIZES = st.sampled_from([0, 1, 511, 512, 10_000, 8**11 - 1, 2**40, 2**62, 2**63 - 1, -1, -512])

_PAX = (
    b"", b"30 GNU.sparse.major=1\n", b"22 GNU.sparse.major=1\n", b"26 GNU.sparse.size=9999999\n",
    b"19 size=1000000000\n",
    b"12 size=-1\n", b"99 path=a\n", b"9999999999999999999999 path=a\n", b"11 path=\xff\n", b"20 mtime=1e99999999\n",
    b"22 GNU.sparse.map=0,9\n", b"30 GNU.sparse.numblocks=10000\n", b"0 \n", b"x", b"16 uid=99999999\n",
    b"22 GNU.sparse.minor=0\n25 GNU.sparse.realsize=9\n", b"21 hdrcharset=BINARY\n",
    b"9" * 2**20,
)  # fmt: skip


@st.composite
def tars(draw: st.DrawFn, *names: str) -> bytes:
    """A tar whose headers may say anything.

    Args:
        draw: Hypothesis's.
        names: names that the decoder looks for.
    """
    packed = b""
    for _ in range(draw(st.integers(0, 4))):
        member = tarfile.TarInfo(draw(st.one_of(st.sampled_from([*names, "a", "b/c.py"]), texts)))
        member.type = draw(_KINDS)
        content = draw(st.one_of(st.sampled_from([b"", b"print(1)\n", b"0\n" * 300, *_PAX]), st.binary(max_size=20)))
        member.size = draw(st.one_of(st.just(len(content)), st.just(len(content)), _SIZES))
        member.linkname = draw(st.sampled_from(["", "a", "/etc/passwd", "../a"]))
        packed += _header(member) + content + bytes(-len(content) % 512)
    return packed + draw(st.sampled_from([bytes(1024), bytes(1024), b"", bytes(512), b"\xff" * 512]))


def _header(member: tarfile.TarInfo) -> bytes:
    try:
        return member.tobuf(tarfile.PAX_FORMAT, errors="surrogatepass")
    except (ValueError, OverflowError, UnicodeError):
        member.size, member.name = 0, "a"
        return member.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")


def zipped_tars(*names: str) -> st.SearchStrategy[bytes]:
    """``tar.gz`` archives.

    Args:
        names: see :func:`tars`.
    """
    plain = st.one_of(tars(*names), tars(*names), damaged(tars(*names)))
    zipped = plain.map(lambda content: gzip.compress(content, 1, mtime=0))
    bombs = st.sampled_from([10**4, 70 * 2**20]).map(lambda size: gzip.compress(bytes(size), 9, mtime=0))
    several = st.lists(zipped, min_size=2, max_size=3).map(b"".join)
    return st.one_of(zipped, zipped, damaged(zipped), bombs, several, plain, st.binary(max_size=50), _sparse())


def _sparse() -> st.SearchStrategy[bytes]:
    """Members of which most is holes: a few bytes claim any size."""

    def packed(size: int, offset: int) -> bytes:
        member = tarfile.TarInfo("hole")
        member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
        head = bytearray(member.tobuf(tarfile.GNU_FORMAT))
        head[386:398], head[398:410] = _base256(offset, 12), _base256(0, 12)
        head[482:483], head[483:495] = b"\0", _base256(size, 12)
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        return gzip.compress(bytes(head) + bytes(1024), mtime=0)

    return st.builds(packed, st.sampled_from([10**6, 2**40, 2**62]), st.sampled_from([0, 512, 2**62]))


def _base256(number: int, width: int) -> bytes:
    return b"\x80" + number.to_bytes(width - 1, "big")


def zipped(content: bytes) -> bytes:
    """A text as a ``gz`` file, which is cut short or not."""
    packed = gzip.compress(content, 1, mtime=0)
    return packed if zlib.crc32(content) % 3 else packed[:-7]
