"""Patterns of text that callers write for others to read: one line, with nothing that is hidden or reorders it."""

from __future__ import annotations

from headway_service.validation_messages import explained

# No control characters, and none that change the direction of text.
_HIDDEN = r"\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069"

VISIBLE_LINE = explained(
    rf"^[^{_HIDDEN}]*[^{_HIDDEN}\s][^{_HIDDEN}]*$",
    "one line of visible text, without control characters",
)
"""A line with at least one visible character."""

EMPTY_OR_VISIBLE_LINE = explained(rf"^[^{_HIDDEN}]*$", "one line of text, without control characters")
"""A line that may be empty."""
