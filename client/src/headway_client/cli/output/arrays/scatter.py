"""Draw points with the characters of a terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headway.sanitize import strip_control_characters
from headway_client.cli.output.arrays.results import as_number
from headway_client.text import shorten

_HEIGHT = 15
_MIN_WIDTH = 20
_MAX_WIDTH = 72
_LABEL_CHARS = 12
_DECADES = 2
"""A horizontal axis whose numbers span more powers of ten than these is logarithmic."""


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """Where the values of a hyperparameter are, from 0 to 1."""

    places: Sequence[float]
    first: str
    last: str
    title: str


def scatter(points: Sequence[tuple[str, float]], *, x: str, y: str, width: int | None = None) -> str:
    """Return points as lines of text: ``o`` for one of them, and the number where there are more.

    Args:
        points: the values of a hyperparameter, each with that of a metric.
        x: the name of the hyperparameter.
        y: the name of the metric.
        width: maximum length of a line; None for no limit.
    """
    axis = _axis([text for text, _ in points], x)
    low, high = min(value for _, value in points), max(value for _, value in points)
    columns = max(min((width or _MAX_WIDTH) - _LABEL_CHARS - 2, _MAX_WIDTH), _MIN_WIDTH)
    cells = Counter(
        (round(_share(value, low, high) * (_HEIGHT - 1)), round(place * (columns - 1)))
        for place, (_, value) in zip(axis.places, points, strict=True)
    )
    lines = [shorten(strip_control_characters(y), columns)]
    for row in range(_HEIGHT - 1, -1, -1):
        label = f"{high:.6g}" if row == _HEIGHT - 1 else f"{low:.6g}" if row == 0 else ""
        drawn = "".join(_mark(cells[row, column]) for column in range(columns))
        lines.append(f"{label:>{_LABEL_CHARS}} |{drawn}".rstrip())
    gap = " " * (_LABEL_CHARS + 2)
    first, last = (shorten(strip_control_characters(text), columns // 2 - 1) for text in (axis.first, axis.last))
    lines.append(f"{' ' * _LABEL_CHARS} +{'-' * columns}")
    lines.append(f"{gap}{first}{last:>{columns - len(first)}}")
    lines.append(gap + shorten(strip_control_characters(axis.title), columns).center(columns).rstrip())
    return "\n".join(lines)


def _axis(texts: Sequence[str], name: str) -> _Axis:
    numbers = [number for number in map(as_number, texts) if number is not None]
    if len(numbers) < len(texts):
        # In the order of their text, evenly spaced.
        options = sorted(set(texts))
        places = [_share(options.index(text), 0, len(options) - 1) for text in texts]
        title = f"{name}: {', '.join(options)}"
        return _Axis(places=places, first=options[0], last=options[-1], title=title)
    low, high = min(numbers), max(numbers)
    first, last = texts[numbers.index(low)], texts[numbers.index(high)]
    if low > 0 and math.log10(high) - math.log10(low) > _DECADES:
        places = [_share(math.log10(number), math.log10(low), math.log10(high)) for number in numbers]
        return _Axis(places=places, first=first, last=last, title=f"{name} (logarithmic)")
    return _Axis(places=[_share(number, low, high) for number in numbers], first=first, last=last, title=name)


def _share(value: float, low: float, high: float) -> float:
    # Halves, as the difference of two floats may be infinite.
    return (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5


def _mark(count: int) -> str:
    if count <= 1:
        return "o" if count else " "
    return str(count) if count < 10 else "#"
