"""The figures of long queues and bursts, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.report.markdown import Figures, in_three_figures, table

KINDS = {"ms": "ms", "read units": "DynamoDB read units", "calls": "DynamoDB calls"}


def scale_table(scale: Figures) -> str:
    """Long lines beside short ones, a burst, ends within a minute, and what DynamoDB's partitions bear."""
    told = [
        _long_lines(where, part)
        for key, where in (("in memory", "in memory"), ("in the sandbox", "in the sandbox's table, over HTTP"))
        for part in scale.get(key) or []
    ]
    for key, title in (("burst", "A burst of submissions"), ("ends", "Running attempts that end within one minute")):
        if scale.get(key):
            rows = [(", ".join(names), _shown(value)) for names, value in _leaves(scale[key])]
            told.append(f"{title}:\n\n{table(('', ''), rows)}")
    if scale.get("bounds"):
        told.append(f"At DynamoDB's limits, by the place that bears a step least often:\n\n{_bounds(scale['bounds'])}")
    return "\n\n".join(told)


def _long_lines(where: str, part: Figures) -> str:
    short, long, times = part["short"], part["long"], part["ratios"]
    rows = [
        (operation, *(_grown(short[operation], long[operation], kind) for kind in KINDS.values()))
        for operation in times
    ]
    memory = f", at most {in_three_figures(long['peakMemoryMB'])} MB" if "peakMemoryMB" in long else ""
    title = f"{long['waiting']:,} waiting {where}{memory}; in each cell before it the same with {short['waiting']:,}:"
    return f"{title}\n\n{table(('', *KINDS), rows)}"


def _grown(short: Figures, long: Figures, kind: str) -> str:
    if kind not in long:
        return ""
    times = f" ({in_three_figures(long[kind] / short[kind])} times)" if short[kind] else ""
    return f"{in_three_figures(short[kind])} → {in_three_figures(long[kind])}{times}"


def _bounds(steps: Mapping[str, Any]) -> str:
    rows = [
        (step, place["place"], *(in_three_figures(place[key]) for key in ("write_units", "read_units", "a_second")))
        for step, places in steps.items()
        for place in places[:1]
    ]
    return table(("step", "place", "write units", "read units", "a second at most"), rows, words=(0, 1))


def _leaves(figures: Any, names: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    """The values of a tree, each with the names on the way to it."""
    if isinstance(figures, Mapping):
        return [leaf for name, each in figures.items() for leaf in _leaves(each, (*names, str(name)))]
    return [(names, figures)]


def _shown(value: Any) -> str:
    """A number, or the length of a list."""
    return in_three_figures(len(value) if isinstance(value, list) else value)
