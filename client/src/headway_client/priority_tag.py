"""The tag that carries a job's priority in a CreateTrainingJob request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.request_tags import with_tag

PRIORITY_TAGS = ("priority", "headway:priority")
"""The spellings that the queue reads."""


def has_priority(request: Mapping[str, Any]) -> bool:
    """Whether a request says its priority itself."""
    tags = request.get("Tags")
    return isinstance(tags, list) and any(_is_priority(tag) for tag in tags)


def with_priority(request: Mapping[str, Any], priority: int) -> dict[str, Any]:
    """Return a copy of a request with this priority, in place of any that it has.

    Raises:
        UsageError: the request's Tags are no list, so nothing can be added to them.
    """
    return with_tag(request, PRIORITY_TAGS[0], str(priority), replaced=PRIORITY_TAGS)


def _is_priority(tag: object) -> bool:
    return isinstance(tag, Mapping) and tag.get("Key") in PRIORITY_TAGS
