"""The parts of a request that may hold secrets, and requests without them for callers that may not see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PARTS = ("Environment", "HyperParameters")
"""They are withheld as a whole: a value in their place could be taken for theirs, and submitted again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A request as a caller may see it."""

    request: Mapping[str, Any]
    #: The members that each of its alternatives replaces.
    alternatives: tuple[Mapping[str, Any], ...] = ()
    #: Parts that it has, and that are left out here.
    withheld: tuple[str, ...] = ()


def shown(request: Mapping[str, Any], alternatives: Sequence[Mapping[str, Any]] = (), *, details: bool) -> Shown:
    """A request as a caller may see it, with its details or without.

    Args:
        request: the CreateTrainingJob request.
        alternatives: the members that each of its alternatives replaces.
        details: whether the caller may see its details.
    """
    if details:
        return Shown(request=request, alternatives=tuple(alternatives))
    withheld = tuple(part for part in PARTS if any(part in each for each in (request, *alternatives)))
    return Shown(request=_without(request), alternatives=tuple(map(_without, alternatives)), withheld=withheld)


def _without(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in PARTS}
