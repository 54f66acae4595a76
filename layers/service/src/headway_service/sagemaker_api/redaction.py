"""The parts of a request that may hold secrets, and requests without them for callers that may not see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PARTS = ("Environment", "HyperParameters")
"""They are withheld as a whole: a value in their place could be taken for theirs, and submitted again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A request as a caller may see it."""

    request: Mapping[str, Any]
    #: Parts that it has, and that are left out here.
    withheld: tuple[str, ...] = ()


def shown(request: Mapping[str, Any], *, details: bool) -> Shown:
    """A request as a caller may see it, with its details or without.

    Args:
        request: the CreateTrainingJob request.
        details: whether the caller may see its details.
    """
    if details:
        return Shown(request=request)
    kept = {name: value for name, value in request.items() if name not in PARTS}
    return Shown(request=kept, withheld=tuple(part for part in PARTS if part in request))
