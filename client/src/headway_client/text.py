"""Format text for terminals; :mod:`headway.sanitize` removes its control characters."""

from __future__ import annotations

import json
import sys
from typing import Any

from headway.sanitize import strip_control_characters


def shorten(value: str, width: int) -> str:
    """Truncate text to at most `width` characters, with an ellipsis at the end.

    Args:
        value: the text.
        width: maximum number of characters.
    """
    if len(value) <= width:
        return value
    return value[: max(width - 1, 0)].rstrip() + "…"


def shorten_middle(value: str, width: int) -> str:
    """Truncate text to at most `width` characters, with an ellipsis in the middle: names differ at their ends.

    Args:
        value: the text.
        width: maximum number of characters.
    """
    if len(value) <= width:
        return value
    end = max(width - 1, 0) // 2
    return f"{value[: max(width - 1 - end, 0)]}…{value[len(value) - end :]}"


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
