"""Bytes that are cut, repeated or changed."""

from __future__ import annotations

from hypothesis import strategies as st

_BITS = (
    b"", b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\r", b"\n", b"\t", b" ", b'"',
    b"'", b"\\", b",", b":", b"{", b"}", b"[", b"]", b"#", b"&a", b"*a", b"!!python/object:os.system", b"---\n", b"? ",
    b"- ", b"%", b"0", b"9" * 40, b"-", b"e", b".", b"=", b"<<: *a\n",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    """Contents that are damaged in up to three places.

    Args:
        draw: Hypothesis's.
        contents: what is damaged.
    """
    content = draw(contents)
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, max(0, len(content))))
        last = min(len(content), first + draw(st.sampled_from([0, 1, 2, 8, 64, 10_000])))
        bit = draw(st.one_of(st.sampled_from(_BITS), st.binary(max_size=4)))
        times = draw(st.sampled_from([1, 1, 1, 2, 50, 20_000]))
        content = content[:first] + bit * times + content[last:]
    return content
