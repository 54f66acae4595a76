"""A grid: each value of each hyperparameter with each value of the others."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from headway.sweeps.limits import MAX_MEMBERS
from headway.sweeps.parameters import Value, checked_names, checked_value, kind_of, text_of
from headway.sweeps.problems import Problem

GRID = "grid"


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of its axes. The last one varies fastest."""

    axes: tuple[tuple[str, tuple[Value, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The hyperparameters that differ."""
        return tuple(name for name, _ in self.axes)

    @property
    def count(self) -> int:
        """The number of members."""
        return prod(len(values) for _, values in self.axes)

    def values(self, index: int) -> dict[str, str]:
        """The hyperparameters of one member."""
        chosen = {}
        for name, values in reversed(self.axes):
            index, place = divmod(index, len(values))
            chosen[name] = text_of(values[place])
        return {name: chosen[name] for name in self.names}

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {GRID: {name: list(values) for name, values in self.axes}}


def parse_grid(member: object, problems: list[Problem]) -> Grid:
    """Return what a document has as its grid; it can be used if no problem is found.

    Args:
        member: the member ``grid``.
        problems: gets what is wrong with it.
    """
    axes = checked_names(member, GRID, problems)
    size = prod(len(values) for values in axes.values() if isinstance(values, list | tuple) and values)
    if size > MAX_MEMBERS:
        problems.append(Problem(GRID, f"has {size:,} members; use fewer values, for up to {MAX_MEMBERS:,}"))
    return Grid(tuple((name, _axis(values, f"{GRID}.{name}", problems)) for name, values in axes.items()))


def _axis(listed: object, path: str, problems: list[Problem]) -> tuple[Value, ...]:
    if not isinstance(listed, list | tuple):
        problems.append(Problem(path, f"is {kind_of(listed)}; write a list of values"))
        return ()
    return checked_choices(listed, path, problems)


def checked_choices(listed: list[Any] | tuple[Any, ...], path: str, problems: list[Problem]) -> tuple[Value, ...]:
    """Return values of which each is given once.

    Args:
        listed: what the document has.
        path: where it is.
        problems: gets what is wrong with them.
    """
    if not listed:
        problems.append(Problem(path, "is empty; add a value, or remove it"))
    seen: dict[str, int] = {}
    values = []
    for position, each in enumerate(listed):
        value = checked_value(each, f"{path}[{position}]", problems)
        if value is None:
            continue
        # As a hyperparameter 1 is the same as "1".
        first = seen.setdefault(text_of(value), position)
        if first != position:
            message = f"is {text_of(value)!r:.60} again, as {path}[{first}] is; remove one of them"
            problems.append(Problem(f"{path}[{position}]", message))
        values.append(value)
    return tuple(values)
