"""A body is one JSON text that all parsers read in the same way."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.api.request_body import MAX_DEPTH, MAX_NUMBER, document_in
from headway_service.errors import InvalidRequest, UnsupportedMediaType


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + "0" + closing * depth


REFUSED = [
    ("no JSON", '{"a": 1,}', "is no JSON"),
    ("half a text", '{"a": "', "is no JSON"),
    ("two texts", "{} {}", "is no JSON"),
    ("a byte order mark", "\ufeff{}", "is no JSON"),
    ("a control character", '"\x1b"', "is no JSON"),
    ("not a number", '{"a": NaN}', "a number that is none"),
    ("infinity", "[-Infinity]", "a number that is none"),
    ("a number beyond a double", "1e999", "a number that is none"),
    ("a whole number that others round", str(MAX_NUMBER + 1), "a whole number beyond"),
    ("a whole number that takes long to read", "9" * 100_000, "a whole number beyond"),
    ("a member that stands twice", '{"a": 1, "b": {"c": 1, "c": 2}}', "two members of one name"),
    ("the same member spelt otherwise", r'{"a": 1, "\u0061": 2}', "two members of one name"),
    ("half a surrogate pair", r'"\ud800"', "half a surrogate pair"),
    ("lists too deep", nested(MAX_DEPTH + 1), "nested more than"),
    ("lists deeper than the stack", nested(100_000), "nested more than"),
    ("objects deeper than the stack", nested(100_000, '{"a":', "}"), "nested more than"),
]


@pytest.mark.parametrize(("text", "problem"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_ambiguous_json_is_refused_with_a_message(text: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem) as refusal:
        document_in("application/json", text)
    assert [field.field for field in refusal.value.fields] == ["(the body)"]
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (r'{"a": "\ud800"}', ["a"]),
        (r'{"a": [{"b": "x"}, {"b": "\udfff", "c": "\udc00"}]}', ["a[1].b", "a[1].c"]),
        (r'{"a": {"\udfff": 1}}', [r"a.\udfff"]),
        (r'["\ud800"]', ["[0]"]),
    ],
)
def test_the_members_that_have_half_a_surrogate_pair_are_named(text: str, fields: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="half a surrogate pair, which is no character in ") as refusal:
        document_in("application/json", text)
    assert [field.field for field in refusal.value.fields] == fields
    assert all("remove it" in field.message for field in refusal.value.fields)
    assert str(refusal.value).encode()


def test_not_more_than_some_members_are_named() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        document_in("", json.dumps(["\ud800"] * 1000))
    assert len(refusal.value.fields) == 25


@pytest.mark.parametrize("content_type", ["", "application/json", "Application/JSON ; charset=utf-8"])
def test_json_is_accepted_with_any_json_content_type(content_type: str) -> None:
    assert document_in(content_type, '{"a": [1.5, "\\ud83d\\ude00"]}') == {"a": [1.5, "\U0001f600"]}


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "json"],
)
def test_another_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="Content-Type: application/json"):
        document_in(content_type, "{}")


@pytest.mark.parametrize("text", [None, ""])
def test_no_body_is_no_document(text: str | None) -> None:
    assert document_in("", text) is None


def test_values_at_the_limit_are_accepted() -> None:
    assert document_in("", nested(MAX_DEPTH)) == json.loads(nested(MAX_DEPTH))
    assert document_in("", f"[{MAX_NUMBER}, {-MAX_NUMBER}]") == [MAX_NUMBER, -MAX_NUMBER]


@given(st.text() | st.text('[]{}",:0123456789.eE-+NaInfity\\ud8', max_size=40))
def test_any_text_is_either_a_document_that_can_be_written_again_or_refused(text: str) -> None:
    try:
        document: Any = document_in("application/json", text)
    except InvalidRequest:
        return
    assert document is None or json.loads(json.dumps(document, allow_nan=False)) == document


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-MAX_NUMBER, MAX_NUMBER)
        | st.text()
        | st.floats().filter(math.isfinite),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_of_any_library_is_read_unchanged(document: Any) -> None:
    assert document_in("application/json", json.dumps(document)) == document
