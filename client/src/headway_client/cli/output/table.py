"""Tables as text for terminals and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TextIO

from headway.sanitize import strip_control_characters
from headway_client.text import shorten, shorten_middle, width_of, wrapped

NONE = "-"
"""The placeholder for a missing value."""

_MIN_LAST_COLUMN = 20
"""Minimum width of the last column, a sentence, in narrow terminals."""

_MIN_FIRST_COLUMN = 16
"""Minimum width of the first column, a name, in narrow terminals; it is cut where the last column does not suffice."""

_MIN_FOLDED_COLUMN = 30
"""Width below which a last column that is not cut stands on lines of its own."""

_INDENT = "    "
"""What these lines begin with."""

_GAP = 2
"""Spaces between columns."""

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

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
# The last four are full-width forms, which some spreadsheets treat like the first four.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class Figure(str):
    """A cell or a header that is written in another way in CSV.

    Attributes:
        raw: what CSV has: a number without a unit, a time in UTC, the header with the unit.
    """

    raw: str

    def __new__(cls, text: str, raw: object) -> Self:
        """Create the cell.

        Args:
            text: what tables show.
            raw: what CSV has; None if the value is missing.
        """
        figure = super().__new__(cls, text)
        figure.raw = "" if raw is None else str(raw)
        return figure


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of strings, each of the same length as the headers.

    Attributes:
        headers: the headers.
        rows: the rows.
        note: lines below the table, which CSV does not have.
        spare: headers of columns that are left out where a line has no room for all, as many as needed, in order.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: Sequence[str] = ()
    spare: Sequence[str] = ()

    def text(self, *, width: int | None = None, colour: bool = False, headers: bool = True) -> str:
        """Return the table as lines of text.

        Args:
            width: maximum length of a line, to which the last column and then the first are truncated, and notes are
                folded; None for no limit.
            colour: color the states.
            headers: whether there are headers and notes; False for the rows only.
        """
        cells = self._cells()
        above = [self.headers] if headers else []
        widths = [max(map(width_of, column)) for column in zip(*above, *cells, strict=True)]
        if width is not None and widths:
            if self.spare and sum(widths) + _GAP * (len(widths) - 1) > width:
                return self._without_spare_column().text(width=width, colour=colour, headers=headers)
            used = sum(each + _GAP for each in widths[:-1])
            widths[-1] = min(widths[-1], max(width - used, _MIN_LAST_COLUMN))
            widths[0] = min(widths[0], max(width - used - widths[-1] + widths[0], _MIN_FIRST_COLUMN))
            cells = [
                [shorten_middle(row[0], widths[0]), *row[1:-1], shorten(row[-1], widths[-1])] if row[1:] else row
                for row in cells
            ]
        text = _aligned(self.headers, cells, colour=colour, above=headers)
        notes = self._notes(width) if headers else []
        return "\n".join([text, *([""] if notes else []), *notes])

    def _notes(self, width: int | None) -> list[str]:
        notes = [strip_control_characters(line) for line in self.note]
        if width is None:
            return notes
        return [part for line in notes for part in (wrapped(line, width) if width_of(line) > width else [line])]

    def folded(self, *, width: int | None = None, colour: bool = False) -> str:
        """Return the table as lines of text with the whole last column, on as many lines as it needs.

        Args:
            width: as for `text`.
            colour: as for `text`.
        """
        cells = self._cells()
        columns = [max(map(width_of, column)) for column in zip(self.headers, *cells, strict=True)]
        left = None if width is None else width - sum(each + _GAP for each in columns[:-1])
        if width is None or left is None or columns[-1] <= left:
            return _aligned(self.headers, cells, colour=colour)
        if left >= _MIN_FOLDED_COLUMN:
            rows = [[*row[:-1], "\n".join(wrapped(row[-1], left))] for row in cells]
            return _aligned(self.headers, rows, colour=colour)
        head, line, *rest = _aligned(self.headers[:-1], [row[:-1] for row in cells], colour=colour).split("\n")
        lines = [head, line]
        for text, row in zip(rest, cells, strict=True):
            told = [] if row[-1] == NONE else wrapped(row[-1], max(width - len(_INDENT), 1))
            lines += [text, *(_INDENT + each for each in told)]
        return "\n".join(lines)

    def _without_spare_column(self) -> Table:
        left_out, *others = self.spare
        kept = [index for index, header in enumerate(self.headers) if header != left_out]
        rows = [[row[index] for index in kept] for row in self.rows]
        return replace(self, headers=[self.headers[index] for index in kept], rows=rows, spare=others)

    def _cells(self) -> list[list[str]]:
        return [[strip_control_characters(cell) for cell in row] for row in self.rows]

    def csv(self, *, headers: bool = True) -> str:
        """Return the table as CSV (RFC 4180) in which no cell is a formula.

        Args:
            headers: whether the first line has the headers.
        """
        file = io.StringIO()
        writer = csv.writer(file)
        if headers:
            writer.writerow([as_csv_cell(header) for header in self.headers])
        writer.writerows([as_csv_cell(cell) for cell in row] for row in self.rows)
        return file.getvalue()


def _aligned(headers: Sequence[str], cells: Sequence[Sequence[str]], *, colour: bool, above: bool = True) -> str:
    """Return columns, with the headers and a line above them."""
    from tabulate import tabulate

    widths = [
        max(width_of(line) for cell in column for line in cell.split("\n"))
        for column in zip(headers, *cells, strict=True)
    ]
    if colour:
        states = {index for index, header in enumerate(headers) if header == _STATE}
        cells = [[coloured(cell) if index in states else cell for index, cell in enumerate(row)] for row in cells]
    # Below headers of its own, tabulate makes each column two characters wider than the header.
    lines = [headers, ["-" * each for each in widths], *cells] if above else cells
    # Names such as 1e5 or 007 are not numbers.
    return tabulate(lines, tablefmt="plain", disable_numparse=True)


def as_csv_cell(value: str) -> str:
    """Escape a cell so that a spreadsheet reads it as text or as a number, never as a formula.

    Job names and messages come from other users (source: OWASP, "CSV Injection": put an apostrophe before such cells).
    """
    safe = "" if value == NONE and not isinstance(value, Figure) else strip_control_characters(_raw(value))
    is_formula = safe.lstrip(" '\"").startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(safe)
    return f"'{safe}" if is_formula else safe


def _raw(cell: str) -> str:
    return cell.raw if isinstance(cell, Figure) else cell


def coloured(word: str) -> str:
    """Return a state in its color."""
    code = _COLOURS.get(word)
    return f"\x1b[{code}m{word}\x1b[0m" if code else word


def wants_colour(stream: TextIO) -> bool:
    """Return whether to color output on a stream: it is a terminal, and NO_COLOR is not set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
