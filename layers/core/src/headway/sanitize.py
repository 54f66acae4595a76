"""Text that came from elsewhere, made safe to be shown."""

from __future__ import annotations

import unicodedata

_SPACES = {"\t", "\n", "\r", "\v", "\f", "\u2028", "\u2029", "\x85"}


def strip_control_characters(value: str) -> str:
    """Return text in which no character can move the cursor, colour, hide or reorder what is shown.

    Job names, messages and failure reasons come from other people. Line breaks become spaces; every control,
    format (such as right-to-left overrides) and unassigned character becomes an escape one can see.
    """
    if value.isascii() and value.isprintable():
        return value
    return "".join(_visible(character) for character in value)


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
