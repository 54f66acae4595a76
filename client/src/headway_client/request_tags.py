"""Tags of a CreateTrainingJob request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headway_client.errors import UsageError

PRIORITY_TAGS = ("priority", "headway:priority")
"""The keys under which the queue reads a job's priority."""

NOT_BEFORE_TAG = "headway:not-before"
"""The key under which the queue reads when a job enters it."""

START_BY_TAG = "headway:start-by"
"""The key under which the queue reads by when a job has to have started."""

QUEUE_TAGS = ("headway:job", "headway:attempt")
"""The keys that the queue adds to each training job; a request can't have them."""


def with_tag(request: Mapping[str, Any], key: str, value: str, *, replaced: Collection[str]) -> dict[str, Any]:
    """Return a copy of a request with a tag added.

    Args:
        request: a CreateTrainingJob request.
        key: the tag's key.
        value: the tag's value.
        replaced: keys of tags that the new one replaces.

    Raises:
        UsageError: the request's Tags are not a list.
    """
    tags = request.get("Tags")
    if tags is None:
        tags = []
    if not isinstance(tags, list):
        raise UsageError('Tags has to be a list such as [{"Key": "priority", "Value": "5"}].')
    kept = [tag for tag in tags if not (isinstance(tag, Mapping) and tag.get("Key") in replaced)]
    return {**request, "Tags": [*kept, {"Key": key, "Value": value}]}


def has_priority(request: Mapping[str, Any]) -> bool:
    """Return whether a request has a priority tag."""
    tags = request.get("Tags")
    return isinstance(tags, list) and any(_is_priority(tag) for tag in tags)


def with_priority(request: Mapping[str, Any], priority: int) -> dict[str, Any]:
    """Return a copy of a request with this priority.

    Args:
        request: a CreateTrainingJob request.
        priority: 0 to 9999; it replaces the request's own.

    Raises:
        UsageError: the request's Tags are not a list.
    """
    return with_tag(request, PRIORITY_TAGS[0], str(priority), replaced=PRIORITY_TAGS)


def with_default_priority(request: dict[str, Any], priority: int | None) -> dict[str, Any]:
    """Return a request with this priority if it has none.

    Args:
        request: a CreateTrainingJob request.
        priority: 0 to 9999; None for the queue's default.

    Raises:
        UsageError: the request's Tags are not a list.
    """
    return request if priority is None or has_priority(request) else with_priority(request, priority)


def is_reserved(key: str) -> bool:
    """Return whether a tag belongs to AWS or to the queue, so that a request can't have it."""
    return key in QUEUE_TAGS or key.lower().startswith("aws:")


def _is_priority(tag: object) -> bool:
    return isinstance(tag, Mapping) and tag.get("Key") in PRIORITY_TAGS
