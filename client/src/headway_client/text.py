"""Text that came from elsewhere, made short enough for a terminal; :mod:`headway.sanitize` makes it safe."""

from __future__ import annotations

import json
import sys
from typing import Any

from headway.sanitize import strip_control_characters


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
    print(f"headway: {strip_control_characters(sentence)}", file=sys.stderr, flush=True)
