"""Which fields of a request differ from those of the job that has its name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

MAX_NAMED = 5
"""Differing fields that a refusal names."""


def differing_fields(queued: Any, submitted: Any) -> list[str]:
    """The paths at which two requests differ, up to :data:`MAX_NAMED` of them. They name no values.

    Args:
        queued: the request of the job in the queue.
        submitted: the other one.
    """
    return list(islice(_differing("", queued, submitted), MAX_NAMED))


def _differing(path: str, one: Any, other: Any) -> Iterator[str]:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        if one != other:
            yield path
        return
    for name in sorted(one.keys() | other.keys()):
        inner = f"{path}.{name}" if path else name
        if name in one and name in other:
            yield from _differing(inner, one[name], other[name])
        else:
            yield inner
