"""Rows with headers: as text for people, and as CSV for spreadsheets."""

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
"""Stands where there is nothing."""

_MIN_LAST_COLUMN = 24
"""The last column, a sentence, is not cut below this, however narrow the terminal."""

_STATE = "State"
"""The header of columns whose words are coloured."""

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
# The second four are full-width: some spreadsheets take them for the first.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of texts, each as long as the headers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self, *, width: int | None = None, colour: bool = False) -> str:
        """Return the table as lines.

        Args:
            width: cut the last column so that lines are at most so long; None to cut nothing.
            colour: colour the states.
        """
        from tabulate import tabulate

        safe = [[strip_control_characters(cell) for cell in row] for row in self.rows]
        if width is not None and safe:
            # tabulate makes a column at least two wider than its header, and puts two spaces between columns.
            columns = list(zip([header + "  " for header in self.headers], *safe, strict=True))
            taken = sum(max(len(cell) for cell in column) + 2 for column in columns[:-1])
            room = max(width - taken, _MIN_LAST_COLUMN)
            safe = [[*row[:-1], shorten(row[-1], room)] for row in safe]
        if colour:
            coloured_columns = {index for index, header in enumerate(self.headers) if header == _STATE}
            safe = [
                [coloured(cell) if index in coloured_columns else cell for index, cell in enumerate(row)]
                for row in safe
            ]
        # Names such as 1e5 or 007 are names, not numbers.
        return tabulate(safe, headers=self.headers, tablefmt="simple", disable_numparse=True)

    def csv(self) -> str:
        """Return the table as CSV (RFC 4180) in which no cell is taken for a formula."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(self.headers)
        writer.writerows([as_csv_cell(cell) for cell in row] for row in self.rows)
        return file.getvalue()


def as_csv_cell(value: str) -> str:
    """Return a text that a spreadsheet takes for a text, or for a number, never for a formula.

    Job names and messages come from other people (source: OWASP, "CSV Injection": put an apostrophe before such cells).
    """
    safe = "" if value == NONE else strip_control_characters(value)
    is_formula = safe.lstrip(" '\"").startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(safe)
    return f"'{safe}" if is_formula else safe


def coloured(word: str) -> str:
    """Return a state in its colour."""
    code = _COLOURS.get(word)
    return f"\x1b[{code}m{word}\x1b[0m" if code else word


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour what is written to a stream: it is a terminal, and NO_COLOR is not set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
