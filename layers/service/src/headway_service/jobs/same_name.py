"""Which fields of a request differ from those of the job that has its name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from headway_service.sagemaker_api.tags import PRIORITY_TAGS

MAX_NAMED = 5
"""Differing fields that a refusal names."""


PRIORITY_FIELDS = frozenset(f"Tags.{key}" for key in PRIORITY_TAGS)
"""The paths of the priority of a request."""


def differing_fields(queued: dict[str, Any], submitted: dict[str, Any]) -> list[str]:
    """The paths at which two requests differ, up to :data:`MAX_NAMED` of them. They name no values.

    A tag is named by its key, as in ``Tags.priority``. If only the order of the tags differs, the field is ``Tags``.

    Args:
        queued: the request of the job in the queue.
        submitted: the other one.
    """
    found = list(islice(_differing("", _with_tags_by_key(queued), _with_tags_by_key(submitted)), MAX_NAMED))
    return found or list(islice(_differing("", queued, submitted), MAX_NAMED))


def _with_tags_by_key(request: dict[str, Any]) -> dict[str, Any]:
    return {**request, "Tags": {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}}


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
