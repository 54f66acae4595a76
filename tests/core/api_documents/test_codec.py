"""Documents are decoded as they are declared; whatever differs is refused with its path."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import pytest

from headway.api_documents.codec import ApiDocument, Member, WrongDocument, camel_case, json_names


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Small(ApiDocument):
    text: str


@dataclass(frozen=True, kw_only=True)
class Other(ApiDocument):
    whole_number: int


@dataclass(frozen=True, kw_only=True)
class Large(ApiDocument):
    some_text: str
    renamed: Annotated[int, Member("A number.", name="aNumber")]
    flag: bool
    color: Color
    free: Mapping[str, Any]
    counts: Mapping[str, int]
    parts: tuple[Small, ...]
    part: Small
    either: Small | Other
    maybe: str | None
    usual: tuple[str, ...] = field(default_factory=tuple)
    fixed: int = 7


DOCUMENT: dict[str, Any] = {
    "someText": "t",
    "aNumber": 3,
    "flag": True,
    "color": "red",
    "free": {"x": [1, {"y": None}]},
    "counts": {"a": 1},
    "parts": [{"text": "1"}, {"text": "2"}],
    "part": {"text": "p"},
    "either": {"wholeNumber": 1},
    "maybe": None,
    "usual": ["u"],
    "fixed": 8,
}


def test_members_are_decoded_by_their_types():
    assert Large.from_document(DOCUMENT) == Large(
        some_text="t",
        renamed=3,
        flag=True,
        color=Color.RED,
        free={"x": [1, {"y": None}]},
        counts={"a": 1},
        parts=(Small(text="1"), Small(text="2")),
        part=Small(text="p"),
        either=Other(whole_number=1),
        maybe=None,
        usual=("u",),
        fixed=8,
    )


def test_members_have_their_given_name_or_one_in_camel_case():
    assert json_names(Large)["some_text"] == "someText"
    assert json_names(Large)["renamed"] == "aNumber"
    assert camel_case("a_long_name") == "aLongName"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"someText": 1}, "`someText` is no text, but a number"),
        ({"someText": None}, "`someText` is no text, but null"),
        ({"aNumber": True}, "`aNumber` is no whole number, but a boolean"),
        ({"aNumber": 1.0}, "`aNumber` is no whole number, but a number"),
        ({"flag": 1}, "`flag` is no boolean, but a number"),
        ({"color": 1}, "`color` is no text, but a number"),
        ({"free": []}, "`free` is no object, but a list"),
        ({"counts": {"a": "1"}}, "`counts.a` is no whole number, but a text"),
        ({"counts": 1}, "`counts` is no object, but a number"),
        ({"parts": {}}, "`parts` is no list, but an object"),
        ({"parts": [{"text": "1"}, {"text": 2}]}, "`parts[1].text` is no text, but a number"),
        ({"parts": [{}]}, "`parts[0].text` is missing"),
        ({"part": None}, "`part` is no object, but null"),
        ({"part": {}}, "`part.text` is missing"),
        ({"either": {"else": 1}}, "`either` is none of Small, Other"),
        ({"either": 1}, "`either` is none of Small, Other"),
        ({"maybe": 1}, "`maybe` is no text, but a number"),
    ],
)
def test_another_value_is_refused_with_its_path(changes: dict[str, Any], message: str):
    with pytest.raises(WrongDocument) as raised:
        Large.from_document({**DOCUMENT, **changes})
    assert str(raised.value) == message


@pytest.mark.parametrize(("name", "default"), [("flag", False), ("maybe", None), ("usual", ()), ("fixed", 7)])
def test_a_member_that_an_older_queue_does_not_send_gets_its_default(name: str, default: object):
    without = {key: value for key, value in DOCUMENT.items() if key != name}
    assert getattr(Large.from_document(without), name) == default


@pytest.mark.parametrize("name", ["someText", "aNumber", "color", "free", "counts", "parts", "part", "either"])
def test_every_other_member_is_required(name: str):
    with pytest.raises(WrongDocument, match=f"`{name}` is missing"):
        Large.from_document({key: value for key, value in DOCUMENT.items() if key != name})


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_a_value_that_is_not_an_object_is_refused(value: object):
    with pytest.raises(WrongDocument, match=r"^the document is no object, but "):
        Large.from_document(value)


def test_a_value_that_a_newer_queue_adds_to_an_enumeration_is_kept():
    assert Large.from_document({**DOCUMENT, "color": "blue"}).color == "blue"


def test_members_that_a_newer_queue_adds_are_ignored_and_kept():
    newer = {"text": "x", "new": [1]}
    decoded = Small.from_document(newer)
    assert decoded == Small(text="x")
    assert decoded.document == newer
    assert pickle.loads(pickle.dumps(decoded)).document == newer
    assert Large.from_document({**DOCUMENT, "part": newer}).part.document == newer


def test_a_value_can_take_another_document():
    assert Small(text="x").with_document({"other": 1}).document == {"other": 1}
