"""A plot of simulations as SVG: instances in use at the top, waiting jobs at the bottom, one curve per policy.

Without matplotlib, which would become a dependency of the wheel, as the wheel includes the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from headway_sandbox.simulator.metrics import Result, Timeline

_COLORS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#c14c8a", "#64473a", "#787774", "#cb912f")
_FONT = 'font-family="sans-serif" font-size="12"'
_PARTS = 400
_LEFT, _WIDTH, _HEIGHT, _GAP = 70, 860, 200, 60


def draw(results: Sequence[Result], capacity: int) -> str:
    """Return the plot as the text of an SVG file.

    Args:
        results: The simulations.
        capacity: Total number of instances.
    """
    curves = [result.timeline.averages(_PARTS) for result in results]
    begin = min((curve.times_ms[0] for curve in curves if curve.times_ms), default=0)
    end = max((curve.times_ms[-1] for curve in curves if curve.times_ms), default=1)
    end = max(end, begin + 1)
    longest = max((max(curve.waiting, default=0) for curve in curves), default=0) or 1
    top = 30 + 18 * len(results)
    lower = top + _HEIGHT + _GAP
    width, height = _LEFT + _WIDTH + 20, lower + _HEIGHT + 40
    title = f"{results[0].trace}: {results[0].jobs} jobs on {capacity} instances" if results else "nothing"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_FONT}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{escape(title)}</text>',
    ]
    for number, result in enumerate(results):
        y = 36 + 18 * number
        label = f"{result.label}: average wait {_duration(result.wait.avg_s)}, JCT {_duration(result.jct.avg_s)}"
        parts.append(f'<rect x="{_LEFT}" y="{y - 8}" width="14" height="4" fill="{_color(number)}"/>')
        parts.append(f'<text x="{_LEFT + 20}" y="{y}">{escape(label)}</text>')
    for y, name, most, read in (
        (top, "instances in use", capacity, _used),
        (lower, "waiting jobs", longest, _waiting),
    ):
        parts += _frame(y, name, most)
        for number, curve in enumerate(curves):
            points = " ".join(_points(curve, read(curve), begin, end, y, most))
            parts.append(f'<polyline fill="none" stroke="{_color(number)}" stroke-width="1.2" points="{points}"/>')
    days = (end - begin) / 86_400_000
    parts.append(f'<text x="{_LEFT}" y="{height - 12}">0</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH}" y="{height - 12}" text-anchor="end">{days:.1f} days</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _used(curve: Timeline) -> list[int]:
    return curve.used


def _waiting(curve: Timeline) -> list[int]:
    return curve.waiting


def _frame(y: int, name: str, most: int) -> list[str]:
    return [
        f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#bbbbbb"/>',
        f'<text x="{_LEFT}" y="{y - 6}">{name}</text>',
        f'<text x="{_LEFT - 6}" y="{y + 10}" text-anchor="end">{most}</text>',
        f'<text x="{_LEFT - 6}" y="{y + _HEIGHT}" text-anchor="end">0</text>',
    ]


def _points(curve: Timeline, values: Sequence[int], begin: int, end: int, y: int, most: int) -> list[str]:
    place: Callable[[int], float] = lambda time_ms: _LEFT + _WIDTH * (time_ms - begin) / (end - begin)  # noqa: E731
    return [
        f"{place(time_ms):.1f},{y + _HEIGHT - _HEIGHT * value / most:.1f}"
        for time_ms, value in zip(curve.times_ms, values, strict=True)
    ]


def _color(number: int) -> str:
    return _COLORS[number % len(_COLORS)]


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.2f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"
