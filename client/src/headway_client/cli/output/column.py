"""A column of a list: what it shows of a row, and what rows are sorted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headway_client.cli.output import times, values
from headway_client.cli.output.table import Figure

Row = TypeVar("Row")

SortKey = str | float | None


@dataclass(frozen=True, kw_only=True)
class Column(Generic[Row]):
    """A column.

    Attributes:
        header: the header.
        cell: makes the cell of a row.
        key: what rows are sorted by; None for a missing value, which comes last.
    """

    header: str
    cell: Callable[[Row], str]
    key: Callable[[Row], SortKey]


def text(header: str, get: Callable[[Row], str | None]) -> Column[Row]:
    """Return a column of texts."""
    return Column(header=header, cell=lambda row: values.optional(get(row)), key=get)


def count(header: str, get: Callable[[Row], int | None]) -> Column[Row]:
    """Return a column of whole numbers."""
    return Column(header=header, cell=lambda row: values.optional(get(row)), key=get)


def time(header: str, get: Callable[[Row], str | None], *, wide: bool) -> Column[Row]:
    """Return a column of times as the API has them, in full if wide."""
    return Column(header=header, cell=lambda row: times.moment(get(row), wide=wide), key=get)


def duration(header: str, get: Callable[[Row], int | None]) -> Column[Row]:
    """Return a column of seconds."""
    return Column(header=Figure(header, f"{header} (s)"), cell=lambda row: times.duration(get(row)), key=get)


def sorted_by(rows: Sequence[Row], columns: Mapping[str, Column[Row]], order: Sequence[str]) -> list[Row]:
    """Return rows sorted by columns; rows without a value come last.

    Args:
        columns: the columns by name.
        order: names of columns, the first decides first; a leading minus sorts in descending order.
    """
    found = list(rows)
    for name in reversed(order):
        key, descending = columns[name.removeprefix("-")].key, name.startswith("-")
        known = [row for row in found if key(row) is not None]
        unknown = [row for row in found if key(row) is None]
        # All values of a column are of one type.
        found = sorted(known, key=key, reverse=descending) + unknown  # type: ignore[arg-type]
    return found
