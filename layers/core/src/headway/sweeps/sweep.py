"""A sweep: the hyperparameters in which the members of an array differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.sweeps.grid import GRID, Grid, parse_grid
from headway.sweeps.listed import LIST, Listed, parse_list
from headway.sweeps.parameters import kind_of, shown
from headway.sweeps.problems import InvalidSweep, Problem
from headway.sweeps.random_search import COUNT, RANDOM, SEED, RandomSearch, parse_random

_KINDS = (GRID, RANDOM, LIST)
_OF_RANDOM = (COUNT, SEED)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The hyperparameters of each member of an array."""

    members: Grid | RandomSearch | Listed

    @classmethod
    def parse(cls, document: object) -> Sweep:
        """Return the sweep that a JSON document describes.

        Args:
            document: an object with ``grid``, with ``random``, ``count`` and ``seed``, or with ``list``.

        Raises:
            InvalidSweep: it describes none; the error has all problems.
        """
        problems: list[Problem] = []
        members = _parse(document, problems)
        if problems or members is None:
            raise InvalidSweep(problems)
        return cls(members)

    @property
    def count(self) -> int:
        """The number of members."""
        return self.members.count

    def values(self, index: int) -> dict[str, str]:
        """The hyperparameters of one member, which is computed alone.

        Args:
            index: the member, from 0.

        Raises:
            IndexError: there is no such member.
        """
        if not 0 <= index < self.count:
            raise IndexError(f"there is no member {index} of {self.count}")
        return self.members.values(index)

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from. The order of the names is a part of it."""
        return self.members.document()


def _parse(document: object, problems: list[Problem]) -> Grid | RandomSearch | Listed | None:
    if not isinstance(document, Mapping):
        problems.append(Problem("", f"is {kind_of(document)}; write an object with one of {', '.join(_KINDS)}"))
        return None
    kinds = [kind for kind in _KINDS if kind in document]
    for name in document:
        if name not in (*_KINDS, *_OF_RANDOM):
            problems.append(Problem("", f"has {shown(name)}; use {', '.join((*_KINDS, *_OF_RANDOM))}"))
        elif name in _OF_RANDOM and kinds and RANDOM not in kinds:
            problems.append(Problem(name, f"belongs to {RANDOM} only; remove it"))
    if len(kinds) != 1:
        found = " and ".join(kinds) if kinds else f"none of {', '.join(_KINDS)}"
        problems.append(Problem("", f"has {found}; use one of them"))
        return None
    if RANDOM in kinds:
        return parse_random(document, problems)
    return parse_grid(document[GRID], problems) if GRID in kinds else parse_list(document[LIST], problems)
