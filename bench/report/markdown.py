"""Markdown tables, and how numbers are written in them.

Tabulate's `github` format is not used: it pads cells to the width of the column, so one changed figure would change
every line of a table in the pages, and cells with sentences would make lines of several hundred characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

Figures = Mapping[str, Any]
"""The figures that a scenario has written; see `bench.suite`."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,)) -> str:
    """A table whose columns are numbers, except for those in ``words``."""
    rule = ["---" if column in words else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def spread_cell(spread: Figures) -> str:
    """The median, and from where to where the values go if they differ."""
    middle, least, greatest = (in_three_figures(spread[which]) for which in ("median", "from", "to"))
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def in_three_figures(number: float) -> str:
    """In three digits; larger numbers without decimals."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{float(f'{number:.3g}'):g}"


def times_cell(number: float) -> str:
    """A factor of improvement, bold where it is below 1."""
    told = in_three_figures(number)
    return told if number > 1 else f"**{told}**"


def runs_told(number: int) -> str:
    """How many runs."""
    return f"{number} run" if number == 1 else f"{number} runs"


def values_cell(values: Sequence[float]) -> str:
    """As :func:`spread_cell`, of the values themselves."""
    return spread_cell({"median": median(values), "from": min(values), "to": max(values)})
