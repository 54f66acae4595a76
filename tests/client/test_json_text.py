"""JSON that others wrote."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.json_text import MAX_DEPTH, NotJson, decode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_json_has_is_decoded(value: Any) -> None:
    assert decode(json.dumps(value)) == value
    assert decode(json.dumps(value).encode()) == value


@given(st.binary(max_size=50) | st.text(max_size=50))
def test_whatever_it_is_it_is_decoded_or_refused(text: str | bytes) -> None:
    with suppress(NotJson):
        decode(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    levels = MAX_DEPTH // sum(each in "[{" for each in opening)
    decode(opening * levels + "1" + closing * levels)
    with pytest.raises(NotJson, match=f"is nested more than {MAX_DEPTH} deep"):
        decode(opening * (levels + 1) + "1" + closing * (levels + 1))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_no_nesting_exhausts_the_stack(text: str) -> None:
    with pytest.raises(NotJson, match="is nested more than"):
        decode(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON: .*, line 1, column 2"),
        (b"\xff", "is no JSON"),
        ("1" * 5000, "is no JSON: .*digits"),
        ("", "is no JSON"),
    ],
)
def test_the_message_says_what_is_wrong(text: str | bytes, said: str) -> None:
    with pytest.raises(NotJson, match=said):
        decode(text)
