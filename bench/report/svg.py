"""Two kinds of plots as SVG, drawn by hand so that the same figures make the same bytes: lines, and bars around 1.

Both have logarithmic axes, as what is plotted goes over orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor, log10
from xml.sax.saxutils import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Told apart by those who see colours differently too (Okabe and Ito)."""

INK, GRID = "#222222", "#dddddd"
WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 44, 56
NAMES_WIDTH, ROW, BAR = 290, 34, 11

Point = tuple[float, float]
Series = Mapping[str, Sequence[Point]]


def line_plot(title: str, series: Series, *, x: str, y: str) -> str:
    """Points that are joined, on two logarithmic axes.

    Args:
        title: what is seen.
        series: the points by what they are of; all positive.
        x: what is right, with its unit.
        y: what is up, with its unit.
    """
    points = [point for each in series.values() for point in each]
    x_ends, y_ends = (_decades([point[axis] for point in points]) for axis in (0, 1))
    across = _scale(x_ends, LEFT, WIDTH - RIGHT)
    up = _scale(y_ends, HEIGHT - BOTTOM, TOP)
    body = [
        *(_line(across(at), TOP, across(at), HEIGHT - BOTTOM) for at in _ticks(x_ends)),
        *(_text(across(at), HEIGHT - BOTTOM + 16, _number(at), "middle") for at in _ticks(x_ends)),
        *(_line(LEFT, up(at), WIDTH - RIGHT, up(at)) for at in _ticks(y_ends)),
        *(_text(LEFT - 6, up(at) + 4, _number(at), "end") for at in _ticks(y_ends)),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 24, x, "middle"),
        _text(LEFT, TOP - 8, y, "start"),
        *_legend(list(series), HEIGHT - 6),
    ]
    for colour, each in zip(COLOURS, series.values(), strict=False):
        places = [(across(right), up(high)) for right, high in each]
        joined = " ".join(f"{right:.1f},{high:.1f}" for right, high in places)
        body.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{right:.1f}" cy="{high:.1f}" r="3.5" fill="{colour}"/>' for right, high in places]
    return _svg(title, HEIGHT, body)


def bar_plot(title: str, rows: Mapping[str, Mapping[str, float]], *, x: str) -> str:
    """Bars that begin at 1: to the right what is better, to the left what is worse.

    Args:
        title: what is seen.
        rows: for each name, how many times as good it is by what is compared; all positive.
        x: what is right.
    """
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    ends = _decades([1.0, *(value for row in rows.values() for value in row.values())])
    across = _scale(ends, NAMES_WIDTH, WIDTH - RIGHT)
    bottom = TOP + ROW * len(rows)
    body = [
        *(_line(across(at), TOP, across(at), bottom) for at in _ticks(ends)),
        *(_text(across(at), bottom + 16, _number(at), "middle") for at in _ticks(ends)),
        _text((NAMES_WIDTH + WIDTH - RIGHT) / 2, bottom + 34, x, "middle"),
        *_legend(names, bottom + 52),
    ]
    for number, (name, row) in enumerate(rows.items()):
        high = TOP + ROW * number + 6
        body.append(_text(NAMES_WIDTH - 8, high + BAR + 4, name, "end"))
        for series, value in row.items():
            place = names.index(series)
            left, right = sorted((across(1.0), across(value)))
            body.append(
                f'<rect x="{left:.1f}" y="{high + BAR * place:.1f}" width="{right - left:.1f}" height="{BAR - 1}" '
                f'fill="{COLOURS[place]}"/>'
            )
    body.append(_line(across(1.0), TOP, across(1.0), bottom, colour=INK))
    return _svg(title, bottom + BOTTOM + 8, body)


def _svg(title: str, height: float, body: Sequence[str]) -> str:
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img" '
        'font-family="sans-serif" font-size="12">'
    )
    ground = f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>'
    heading = f'<text x="{WIDTH / 2:g}" y="20" text-anchor="middle" font-size="14" fill="{INK}">{escape(title)}</text>'
    return "\n".join([begin, f"<title>{escape(title)}</title>", ground, heading, *body, "</svg>", ""])


def _legend(names: Sequence[str], high: float) -> Iterator[str]:
    right = float(LEFT)
    for colour, name in zip(COLOURS, names, strict=False):
        yield f'<rect x="{right:.1f}" y="{high - 9:.1f}" width="10" height="10" fill="{colour}"/>'
        yield _text(right + 14, high, name, "start")
        right += 14 + 7 * len(name) + 18


def _line(x1: float, y1: float, x2: float, y2: float, *, colour: str = GRID) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around the values; at least one decade."""
    least, most = floor(log10(min(values))), ceil(log10(max(values)))
    return least, max(most, least + 1)


def _ticks(ends: tuple[int, int]) -> list[float]:
    return [10.0**power for power in range(ends[0], ends[1] + 1)]


def _scale(ends: tuple[int, int], begin: float, end: float) -> Callable[[float], float]:
    return lambda value: begin + (end - begin) * (log10(value) - ends[0]) / (ends[1] - ends[0])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
