"""In what do sums differ from those that were computed again?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OTHER = "(other)"
"""The name of the sum that all names share that have none of their own."""

_Figures = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A figure that differs.

    Attributes:
        name: of which sum.
        figure: which figure.
        stored: its value in the sum.
        computed: its value by the jobs.
    """

    name: str
    figure: str
    stored: int
    computed: int


def differences(stored: Mapping[str, _Figures], computed: Iterable[Mapping[str, _Figures]]) -> list[Difference]:
    """The figures that differ, in order.

    Args:
        stored: the sums, by name.
        computed: what jobs have, by name; each job once.
    """
    found: dict[str, dict[str, int]] = {}
    for sums in computed:
        for own, figures in sums.items():
            name = own if own in stored or OTHER not in stored else OTHER
            kept = found.setdefault(name, {})
            for figure, value in figures.items():
                kept[figure] = kept.get(figure, 0) + value
    return [
        Difference(name=name, figure=figure, stored=has, computed=wanted)
        for name in sorted({*stored, *found})
        for figure in sorted({*stored.get(name, {}), *found.get(name, {})})
        if (has := stored.get(name, {}).get(figure, 0)) != (wanted := found.get(name, {}).get(figure, 0))
    ]
