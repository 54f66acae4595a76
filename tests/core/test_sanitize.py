from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.reasons import MAX_MESSAGE_CHARS, Reason, ReasonCode
from headway.sanitize import strip_control_characters


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
    assert strip_control_characters(hostile) == shown


@given(st.text())
def test_no_terminal_control_character_is_left(value: str):
    assert not any(
        unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        for character in strip_control_characters(value)
    )


@given(st.text())
def test_a_reason_is_one_line_without_control_characters(value: str):
    message = Reason(code=ReasonCode.FAILED, message=value).message
    assert message == strip_control_characters(message)
    assert len(message) <= MAX_MESSAGE_CHARS
