from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sanitize import strip_control_characters
from headway_client.text import shorten, shorten_middle, to_json, to_stderr, width_of, wrapped


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


@pytest.mark.parametrize(
    ("width", "shown"), [(11, "hello world"), (10, "hello…orld"), (9, "hell…orld"), (2, "h…"), (1, "…"), (0, "…")]
)
def test_a_long_name_is_cut_in_the_middle(width: int, shown: str):
    assert shorten_middle("hello world", width) == shown


@pytest.mark.parametrize(
    ("value", "width"),
    [("resnet", 6), ("\u65e5\u672c", 4), ("a\u0301", 1), ("", 0)],
    ids=["ascii", "wide", "mark", "none"],
)
def test_the_width_is_in_columns_of_the_terminal(value: str, width: int):
    assert width_of(value) == width


def test_wide_text_is_cut_between_its_characters():
    assert shorten("\u65e5\u672c\u8a9e", 6) == "\u65e5\u672c\u8a9e"
    assert shorten("\u65e5\u672c\u8a9e", 4) == "\u65e5\u2026"
    assert width_of(shorten_middle("\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", 9)) <= 9


@given(st.text(), st.integers(1, 50))
def test_no_cut_text_is_wider_than_its_width(value: str, width: int):
    safe = strip_control_characters(value)

    assert width_of(shorten(safe, width)) <= width
    assert width_of(shorten_middle(safe, width)) <= width


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("it starts by 2026-01-02 03:04 UTC", ["it starts by", "2026-01-02 03:04 UTC"]),
        ("it has run for 12 h 30 min of 24 h", ["it has run for", "12 h 30 min of 24 h"]),
        ("for arn:aws:iam::123456789012:user/ada of us", ["for", "arn:aws:iam::123456789012:user/ada", "of us"]),
        ("in resnet-50-imagenet", ["in resnet-50-imagenet"]),
        ("", [""]),
    ],
)
def test_no_line_ends_within_a_time_a_duration_or_a_name(text: str, lines: list[str]):
    assert wrapped(text, 21) == lines


@given(st.text(st.characters(max_codepoint=127, min_codepoint=32)), st.integers(1, 50))
def test_a_cut_name_keeps_its_width_its_beginning_and_its_end(value: str, width: int):
    shown = shorten_middle(value, width)

    assert len(shown) == min(len(value), width)
    if shown != value:
        kept = width - 1 - (width - 1) // 2
        assert shown[:kept] == value[:kept]
        assert value.endswith(shown[kept + 1 :])


def test_a_sentence_is_written_at_once_with_the_end_of_its_line(monkeypatch: pytest.MonkeyPatch):
    written: list[str] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Stream())
    to_stderr("waits")
    assert [each for each in written if each] == ["headway: waits\n"]
