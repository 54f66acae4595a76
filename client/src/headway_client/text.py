"""Text that came from elsewhere, made safe and short enough for a terminal."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

_SPACES = {"\t", "\n", "\r", "\v", "\f", "\u2028", "\u2029", "\x85"}


def neutralise(value: str) -> str:
    """Return text in which no character can move the cursor, colour, hide or reorder what is shown.

    Job names, messages and failure reasons come from other people. Line breaks become spaces; every control,
    format (such as right-to-left overrides) and unassigned character becomes an escape one can see.
    """
    if value.isascii() and value.isprintable():
        return value
    return "".join(_visible(character) for character in value)


def shorten(value: str, width: int) -> str:
    """Return text of at most `width` characters, with an ellipsis where something was cut off."""
    if len(value) <= width:
        return value
    return value[: max(width - 1, 0)].rstrip() + "…"


def to_json(document: Any) -> str:
    """Return a document as JSON for people and programs, in ASCII, so that it too holds no live escape."""
    # json leaves DEL as it is, being ASCII.
    return json.dumps(document, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f")


def to_stderr(sentence: str) -> None:
    """Show a sentence on standard error."""
    print(f"headway: {neutralise(sentence)}", file=sys.stderr, flush=True)


def _visible(character: str) -> str:
    if character in _SPACES:
        return " "
    # Cc control, Cf format, Cs surrogate, Co private, Cn unassigned
    if not unicodedata.category(character).startswith("C"):
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
