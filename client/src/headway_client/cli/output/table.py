"""Tables as text for terminals and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from headway.sanitize import strip_control_characters
from headway_client.text import shorten

NONE = "-"
"""The placeholder for a missing value."""

_MIN_LAST_COLUMN = 24
"""Minimum width of the last column, a sentence, in narrow terminals."""

_STATE = "State"
"""The header of columns with colored words."""

# Select Graphic Rendition (source: ECMA-48, 8.3.117): 31 red, 32 green, 33 yellow, 35 magenta, 36 cyan, 2 faint.
_COLOURS = {
    "running": "32",
    "completed": "36",
    "pending": "33",
    "preempted": "33",
    "held": "2",
    "stopping": "35",
    "stopped": "2",
    "failed": "31",
    "rogue": "31",
    "ok": "32",
    "note": "33",
    "problem": "31",
}

_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
# The last four are full-width forms, which some spreadsheets treat like the first four.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of strings, each of the same length as the headers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self, *, width: int | None = None, colour: bool = False) -> str:
        """Return the table as lines of text.

        Args:
            width: maximum length of a line, to which the last column is truncated; None for no limit.
            colour: color the states.
        """
        from tabulate import tabulate

        safe = [[strip_control_characters(cell) for cell in row] for row in self.rows]
        if width is not None and safe:
            # In tabulate a column is at least two wider than its header, with two spaces between columns.
            columns = list(zip([header + "  " for header in self.headers], *safe, strict=True))
            used = sum(max(len(cell) for cell in column) + 2 for column in columns[:-1])
            available = max(width - used, _MIN_LAST_COLUMN)
            safe = [[*row[:-1], shorten(row[-1], available)] for row in safe]
        if colour:
            coloured_columns = {index for index, header in enumerate(self.headers) if header == _STATE}
            safe = [
                [coloured(cell) if index in coloured_columns else cell for index, cell in enumerate(row)]
                for row in safe
            ]
        # Names such as 1e5 or 007 are not numbers.
        return tabulate(safe, headers=self.headers, tablefmt="simple", disable_numparse=True)

    def csv(self) -> str:
        """Return the table as CSV (RFC 4180) in which no cell is a formula."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(self.headers)
        writer.writerows([as_csv_cell(cell) for cell in row] for row in self.rows)
        return file.getvalue()


def as_csv_cell(value: str) -> str:
    """Escape a cell so that a spreadsheet reads it as text or as a number, never as a formula.

    Job names and messages come from other users (source: OWASP, "CSV Injection": put an apostrophe before such cells).
    """
    safe = "" if value == NONE else strip_control_characters(value)
    is_formula = safe.lstrip(" '\"").startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(safe)
    return f"'{safe}" if is_formula else safe


def coloured(word: str) -> str:
    """Return a state in its color."""
    code = _COLOURS.get(word)
    return f"\x1b[{code}m{word}\x1b[0m" if code else word


def wants_colour(stream: TextIO) -> bool:
    """Return whether to color output on a stream: it is a terminal, and NO_COLOR is not set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
