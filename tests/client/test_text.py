from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.text import shorten, to_json


@given(st.text())
def test_json_is_ascii_without_controls_and_reads_back(value: str):
    text = to_json({"value": value})

    assert json.loads(text) == {"value": value}
    assert all(character == "\n" or " " <= character <= "~" for character in text)


@pytest.mark.parametrize(
    ("width", "shown"), [(11, "hello world"), (10, "hello wor…"), (7, "hello…"), (1, "…"), (0, "…")]
)
def test_long_text_is_cut_with_an_ellipsis(width: int, shown: str):
    assert shorten("hello world", width) == shown
