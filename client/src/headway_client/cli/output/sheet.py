"""Labelled lines on one thing, such as the details of a job."""

from __future__ import annotations

from collections.abc import Sequence

from headway.sanitize import strip_control_characters
from headway_client.text import wrapped

_MIN_LABEL = 9
_MIN_TEXT = 30


def sheet(lines: Sequence[tuple[str, str]], *, width: int | None = None) -> str:
    """Return lines of text with a label each; text that does not fit continues below its beginning.

    Args:
        lines: the labels and the texts.
        width: maximum length of a line; None for no limit.
    """
    label_width = max(_MIN_LABEL, *(len(label) for label, _ in lines))
    left = None if width is None else max(width - label_width - 1, _MIN_TEXT)
    shown = []
    for label, text in lines:
        first, *rest = [text] if left is None else wrapped(strip_control_characters(text), left)
        shown.append(f"{label:<{label_width}} {strip_control_characters(first)}")
        shown += [f"{'':<{label_width}} {line}" for line in rest]
    return "\n".join(shown)
