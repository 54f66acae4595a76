"""Durations in words."""

from __future__ import annotations

_UNITS_S = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def in_words(time_ms: float) -> str:
    """A duration in two units, rounded to the nearest, such as ``2 h 30 min``, ``90 min`` or ``45 s``.

    The first one is the largest of which it has two or exactly one, so that a day and a half is ``36 h``. What is not 0
    does not read like 0: it is ``less than 1 s``.

    Args:
        time_ms: the duration, ms; a negative one counts as 0.
    """
    seconds = _nearest(max(0, time_ms) / 1000, 1)
    if not seconds:
        return "less than 1 s" if time_ms > 0 else "0 s"
    largest = next(i for i, (_, unit_s) in enumerate(_UNITS_S) if seconds >= 2 * unit_s or seconds == unit_s)
    _, smallest_s = _UNITS_S[min(largest + 1, len(_UNITS_S) - 1)]
    rest_s = _nearest(seconds, smallest_s)
    parts: list[str] = []
    for unit, unit_s in _UNITS_S[largest:]:
        count, rest_s = divmod(rest_s, unit_s)
        parts += [f"{count} {unit}"] if count else []
    return " ".join(parts)


def _nearest(value: float, step: int) -> int:
    """The nearest multiple; of two, the larger one."""
    return int((value + step / 2) // step) * step
