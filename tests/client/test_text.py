from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.text import from_json, shorten, shorten_middle, to_json, to_stderr


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


@given(st.text(), st.integers(1, 50))
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


@pytest.mark.parametrize("content", ["[" * 100_000, b'{"a":' * 100_000, "{", b"\xff", ""])
def test_what_is_no_json_is_a_value_error_however_deep_it_is(content: str | bytes):
    with pytest.raises(ValueError):  # noqa: PT011 - the decoder's own messages
        from_json(content)
