"""Confidential values of a request are masked in AWS's messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.sagemaker_api.masking import MASK, MIN_MASKED_CHARS, masked


@pytest.mark.parametrize(
    ("text", "request_", "expected"),
    [
        ("Value 'hunter2' is no token", {"HyperParameters": {"token": "hunter2"}}, f"Value '{MASK}' is no token"),
        ("KEY=hunter2 twice: hunter2", {"Environment": {"KEY": "hunter2"}}, f"KEY={MASK} twice: {MASK}"),
        ("hunter22", {"Environment": {"A": "hunter2", "B": "hunter22"}}, MASK),
        ("1 error in 1 value", {"HyperParameters": {"epochs": "1"}}, "1 error in 1 value"),
        ("project orion", {"Tags": [{"Key": "project", "Value": "orion"}]}, "project orion"),
        ("hunter2", {"HyperParameters": ["hunter2"], "Environment": {"A": 5}}, "hunter2"),
        ("hunter2", {}, "hunter2"),
    ],
)
def test_values_are_masked_in_an_unchanged_sentence(text: str, request_: dict[str, Any], expected: str) -> None:
    assert masked(text, request_) == expected


_LETTERS, _DIGITS = st.text("abc", min_size=MIN_MASKED_CHARS), st.text("0123456789")


@given(_LETTERS, _DIGITS, _DIGITS)
def test_a_confidential_value_is_masked_everywhere(value: str, before: str, after: str) -> None:
    assert masked(before + value + after, {"HyperParameters": {"a": value}}) == before + MASK + after
