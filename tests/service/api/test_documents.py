"""What the service answers, the client decodes: one definition of each document, two directions."""

from __future__ import annotations

import importlib
import json
import pkgutil
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from headway import api_documents
from headway.api_documents.codec import ApiDocument, json_names

MODULES = [
    importlib.import_module(f"{api_documents.__name__}.{each.name}")
    for each in pkgutil.iter_modules(api_documents.__path__)
]
KINDS = sorted(
    {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ApiDocument) and kind is not ApiDocument
    },
    key=lambda kind: kind.__name__,
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=3,
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a member's type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return st.dictionaries(st.text(), values(arguments[1]), max_size=2)
    if arguments:
        return st.one_of([values(each) for each in arguments])
    if hint is Any:
        return ANY_JSON
    if hint is float:
        # JSON has no other numbers, and the configuration accepts none.
        return st.floats(allow_nan=False, allow_infinity=False)
    if isinstance(hint, type) and issubclass(hint, ApiDocument):
        return documents(hint)
    return st.from_type(hint)


def documents(kind: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{name: values(hints[name]) for name in json_names(kind)})


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
@settings(max_examples=20)
@given(data=st.data())
def test_encoded_values_round_trip(kind: Any, data: st.DataObject) -> None:
    value = data.draw(documents(kind))
    answer = json.loads(TypeAdapter(kind).dump_json(value, by_alias=True))
    assert list(answer) == list(json_names(kind).values())
    decoded = kind.from_document(answer)
    assert decoded == value
    assert decoded.document == answer
