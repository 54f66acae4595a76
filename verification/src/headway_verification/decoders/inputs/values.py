"""Values that break decoders, as texts and as pieces of JSON."""

from __future__ import annotations

import json

from hypothesis import strategies as st

LONG = 100_000
"""Repetitions that make a quadratic decoder hang and a linear one take milliseconds."""


MAX_BYTES = 1_000_000
"""The longest input. A request of the API has up to 10 MB, but what hangs on those takes long on these."""


class Raw(str):
    """A piece of JSON as it is written, which may be none."""

    __slots__ = ()


_LENGTHS = st.sampled_from([0, 1, 2, 63, 64, 256, 1025, 4301, LONG])

_TEXTS = (
    "", " ", "\n", "\x00", "\x1b[2J", "\x7f", "\u0085", "\u202e", "\ufeff", "\ud800", "a\udfffb", "\uff11", "é", "😀",
    "..", "../..", "/", "//", ":", "%", "%00", "-", "_", "*", "null", "true", "NaN", "nan", "inf", "-inf", "Infinity",
    "1e999", "-1", "0", "00", "1.5", "1_0", " 1", "+1", "0x10", "1e5", "9223372036854775808", "²", "१",
    "s3://", "s3:///", "s3://jobs", "s3://jobs/", "s3://jobs/\ud800", "s3://jobs/\x00", "s3://jobs//", "s3://jobs/..",
    "s3://jobs/sources/a.tar.gz", "s3://elsewhere/a", "arn:aws:iam::123456789012:role/\n", "arn::::::", "arn:",
    "{{ jobs.a.model }}", "{{ jobs.a.output }}/x", "{{jobs.b.model}}", "{{ jobs. .model }}", "{{", "}}",
    "{{ jobs.a.model }}{{ jobs.a.model }}", "(a+)+$", "(", "[", "(?P<a>x)", "(.*)*", "(x+x+)+y", "\\", "$", "^",
    "2026-11-25", "2026-02-30", "0000-00-00", "9999-12-31T23:59:60Z", "2026-11-25T10:00:00+99:99", "-1-1-1",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "ml.p5.48xlarge", "ml.p5.48xlarge.spot", "serverless", "a", "b", "a_0", "a_00", "a_9999", "headway-a",
    "<script>", "'; DROP TABLE", "${jndi:ldap://x}", "{}", "[]", "__class__", "__proto__", "pk", "job#a",
)  # fmt: skip

texts: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(_TEXTS),
    st.builds(lambda unit, times: unit * times, st.sampled_from(["a", "{{", " ", "\\", "a.", "é", "(", "9"]), _LENGTHS),
    st.builds(str.__add__, st.sampled_from(_TEXTS), st.sampled_from(_TEXTS)),
    st.text(max_size=20),
)
"""Texts, also such that UTF-8 cannot encode."""

numbers: st.SearchStrategy[Raw] = st.one_of(
    st.sampled_from(
        ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "-0", "-0.0", "1.0", "0.5", "-1", "0", "1", "2",
         "2147483648", "9007199254740993", "9223372036854775808", "1e308", "01", "1.", ".5", "+1", "--1"]
    ),
    st.integers(-(10**6), 10**6).map(str),
    st.builds(lambda digit, times: digit * times, st.sampled_from("19"), st.sampled_from([17, 50, 4301, LONG])),
).map(Raw)  # fmt: skip
"""Numbers of JSON, and what looks like them."""

_DEPTHS = st.sampled_from([3, 33, 500, 2500, LONG])

nested: st.SearchStrategy[Raw] = st.one_of(
    st.builds(lambda times: "[" * times, _DEPTHS),
    st.builds(lambda times: "[" * times + "]" * times, _DEPTHS),
    st.builds(lambda times: '{"a":' * times + "1" + "}" * times, _DEPTHS),
    st.builds(lambda times: '[{"a":' * times + "1" + "}]" * times, _DEPTHS),
).map(Raw)
"""Lists and objects inside each other."""

wide: st.SearchStrategy[Raw] = st.one_of(
    st.builds(lambda times: "[" + ",".join("0" * times) + "]", _LENGTHS),
    st.builds(lambda times: "[" + ",".join(['""'] * times) + "]", _LENGTHS),
    st.builds(lambda times: "{" + ",".join(f'"k{number}":{number}' for number in range(times)) + "}", _LENGTHS),
).map(Raw)
"""Long lists and objects."""

values: st.SearchStrategy[object] = st.one_of(
    texts,
    numbers,
    st.sampled_from([None, True, False, [], {}, [[]], [None], {"a": 1}, {"": None}, [1, "1"], [{}]]),
    nested,
    wide,
    st.sampled_from(['{"a":1,"a":2}', '"\\ud800"', '"\\u0000"', '"\\q"', "'a'", "nul", "[1,]", '{"a"}', "/**/1"]).map(
        Raw
    ),
)
"""Values of JSON and what is none, for any place of a document."""


def written(value: object) -> str:
    """The JSON of a document whose values may be pieces of JSON, and whose members may be pairs.

    Args:
        value: the document. A list of pairs under :class:`Members` may repeat a name.
    """
    match value:
        case Raw():
            return str(value)
        case Members():
            return "{" + ",".join(f"{json.dumps(name)}:{written(each)}" for name, each in value.pairs) + "}"
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{written(each)}" for name, each in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(written, value)) + "]"
        case _:
            return json.dumps(value)


class Members:
    """An object of JSON in which a name may stand twice.

    Args:
        pairs: its members.
    """

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs
