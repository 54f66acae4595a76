"""Format text for terminals; :mod:`headway.sanitize` removes its control characters.

A width is in columns of a terminal: a Chinese character has two, a combining mark none.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from headway.sanitize import strip_control_characters

_NO_BREAK_SPACE = "\u00a0"

_KEPT_TOGETHER = re.compile(r"(?<=\d) (?=\d\d:\d\d|UTC\b|(?:d|h|min|s|%)(?![\w-]))|(?<=\d [dh]) (?=\d+ (?:h|min|s)\b)")
"""The spaces within a time or a duration, such as ``2026-01-02 03:04 UTC`` and ``2 h 30 min``."""


def width_of(value: str) -> int:
    """Return the width of a text."""
    if value.isascii():
        return len(value)
    # The import takes as long as a request; most text is ASCII.
    from wcwidth import width

    return width(value)


def shorten(value: str, width: int) -> str:
    """Truncate text to at most a width, with an ellipsis at the end."""
    if width_of(value) <= width:
        return value
    return _part(value, 0, max(width - 1, 0)).rstrip() + "…"


def shorten_middle(value: str, width: int) -> str:
    """Truncate text to at most a width, with an ellipsis in the middle: names differ at their ends."""
    whole = width_of(value)
    if whole <= width:
        return value
    end = max(width - 1, 0) // 2
    return f"{_part(value, 0, max(width - 1 - end, 0))}…{_part(value, whole - end, whole)}"


def _part(value: str, start: int, end: int) -> str:
    """The characters of a text between two columns."""
    if value.isascii():
        return value[start:end]
    from wcwidth import clip

    return clip(value, start, end)


def wrapped(value: str, width: int) -> list[str]:
    """Return text as lines of at most a width, none of which ends within a time or a duration.

    A word that is longer stays whole, such as an ARN that somebody copies.
    """
    from wcwidth import wrap

    kept = _KEPT_TOGETHER.sub(_NO_BREAK_SPACE, value)
    lines = wrap(kept, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines] or [""]


def to_json(document: Any) -> str:
    """Return a document as indented ASCII JSON, without control characters."""
    # json does not escape DEL, which is ASCII.
    return json.dumps(document, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 job`` and ``2 jobs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def to_stderr(sentence: str) -> None:
    """Print a sentence to standard error."""
    # The end of the line is part of the text: print writes its own end apart, and lines of two threads would mix.
    print(f"headway: {strip_control_characters(sentence)}\n", end="", file=sys.stderr, flush=True)
