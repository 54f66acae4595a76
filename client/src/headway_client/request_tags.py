"""Tags of a CreateTrainingJob request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headway_client.errors import UsageError

_QUEUE_TAGS = ("headway:job", "headway:attempt")
"""Those that the queue adds to each training job."""


def with_tag(request: Mapping[str, Any], key: str, value: str, *, replaced: Collection[str]) -> dict[str, Any]:
    """Return a copy of a request with this tag, in place of those of the keys `replaced`.

    Raises:
        UsageError: the request's Tags are no list, so nothing can be added to them.
    """
    tags = request.get("Tags")
    if tags is None:
        tags = []
    if not isinstance(tags, list):
        raise UsageError('Tags has to be a list such as [{"Key": "priority", "Value": "5"}].')
    kept = [tag for tag in tags if not (isinstance(tag, Mapping) and tag.get("Key") in replaced)]
    return {**request, "Tags": [*kept, {"Key": key, "Value": value}]}


def is_reserved(key: str) -> bool:
    """Whether a tag is AWS's or the queue's own, so that it can't be given to a request."""
    return key in _QUEUE_TAGS or key.lower().startswith("aws:")
