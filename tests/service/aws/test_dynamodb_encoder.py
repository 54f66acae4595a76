"""Items are encoded as by boto3, only faster."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from headway_service.aws.dynamodb_decoder import decode_item
from headway_service.aws.dynamodb_encoder import encode_item, encode_value

WHOLE = st.integers(-(10**37), 10**37)
VALUES = st.recursive(
    st.text() | WHOLE | st.booleans() | st.none(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=8,
)


class State(StrEnum):
    RUNNING = "running"


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
def test_an_item_is_encoded_as_by_boto3_and_decoded_to_the_same(item: dict[str, Any]) -> None:
    encoded = encode_item(item)
    serializer = TypeSerializer()
    assert encoded == {name: serializer.serialize(value) for name, value in item.items()}
    assert decode_item(encoded) == item


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("", {"S": ""}),
        (State.RUNNING, {"S": "running"}),
        (True, {"BOOL": True}),
        (0, {"N": "0"}),
        (-12345678901234, {"N": "-12345678901234"}),
        (None, {"NULL": True}),
        (("a", 1), {"L": [{"S": "a"}, {"N": "1"}]}),
        (MappingProxyType({"a": ()}), {"M": {"a": {"L": []}}}),
    ],
    ids=["empty text", "an enumeration", "a boolean", "zero", "a number", "nothing", "a tuple", "a mapping"],
)
def test_a_value_of_each_type_has_its_notation(value: Any, encoded: dict[str, Any]) -> None:
    assert encode_value(value) == encoded == TypeSerializer().serialize(value)


@pytest.mark.parametrize("value", [1.5, Decimal("1.5"), {"a"}, b"a", object()], ids=lambda value: type(value).__name__)
def test_a_value_of_a_type_that_items_never_have_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        encode_item({"pk": "p", "list": [value]})
