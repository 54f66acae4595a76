from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.text import neutralise, shorten, to_json


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("plain-name", "plain-name"),
        ("größe 日本", "größe 日本"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb\nc\td\u2028e\x85f", "a b c d e f"),
        ("del\x7f nul\x00", "del\\x7f nul\\x00"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_escapes_become_visible_and_text_stays(hostile: str, shown: str):
    assert neutralise(hostile) == shown


@given(st.text())
def test_nothing_that_controls_a_terminal_is_left(value: str):
    assert not any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in neutralise(value))


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
