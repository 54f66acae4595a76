"""Two kinds of plots: lines on logarithmic axes, and bars around 1. As SVG the same figures make the same bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Distinguishable with color blindness too (Okabe and Ito)."""

_STYLE: dict[Any, Any] = {
    # Ids of elements are hashes with this salt, instead of random numbers.
    "svg.hashsalt": "headway",
    # Text stays text: small files that readers can search.
    "svg.fonttype": "none",
    "font.size": 9,
    # Logarithmic axes end at powers of ten.
    "axes.autolimit_mode": "round_numbers",
    "axes.xmargin": 0,
    "axes.ymargin": 0,
}
_WIDTH_IN, _HEIGHT_IN, _ROW_IN = 8.0, 4.5, 0.4
_BAR = 0.35
"""Height of a bar, where rows are 1 apart."""

Point = tuple[float, float]
Series = Mapping[str, Sequence[Point]]


@rc_context(_STYLE)
def line_plot(title: str, series: Series, *, x: str, y: str) -> Figure:
    """Points that are joined, on two logarithmic axes.

    Args:
        title: what the plot shows.
        series: the points by their name; all positive.
        x: label of the horizontal axis, with its unit.
        y: label of the vertical axis, with its unit.
    """
    figure, axes = _begun(title, _HEIGHT_IN)
    for color, (name, points) in zip(COLORS, series.items(), strict=False):
        axes.plot(*zip(*points, strict=True), marker="o", color=color, label=name)
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    return _finished(figure, axes)


@rc_context(_STYLE)
def bar_plot(title: str, rows: Mapping[str, Mapping[str, float]], *, x: str) -> Figure:
    """Bars that begin at 1: to the right if better, to the left if worse.

    Args:
        title: what the plot shows.
        rows: for each name, the factor of each series; all positive.
        x: label of the horizontal axis.
    """
    figure, axes = _begun(title, 1.5 + _ROW_IN * len(rows))
    for number, name in enumerate(dict.fromkeys(name for row in rows.values() for name in row)):
        values = {place + _BAR * number: row[name] for place, row in enumerate(rows.values()) if name in row}
        lengths = [value - 1 for value in values.values()]
        axes.barh([*values], lengths, left=1, height=_BAR, color=COLORS[number], label=name)
    axes.set(xscale="log", xlabel=x)
    axes.set_yticks(range(len(rows)), [*rows])
    axes.set_ylim(len(rows) - _BAR, -1 + _BAR)
    axes.axvline(1, color="black", linewidth=1)
    return _finished(figure, axes)


@rc_context(_STYLE)
def svg(figure: Figure) -> str:
    """A plot as SVG."""
    text = io.StringIO()
    # Without the date and the versions that would change the file although the figures are the same.
    figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()


def _begun(title: str, height_in: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title)
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(FuncFormatter(_number))
            axis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside lower center", ncols=len(COLORS))
    return figure


def _number(value: float, _place: int | None = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
