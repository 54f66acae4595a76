"""Events over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from headway.api_documents.codec import ApiDocument, Member


@dataclass(frozen=True, kw_only=True)
class FeedEvent(ApiDocument):
    """An event, as it is on the event bus."""

    cursor: Annotated[str, Member("The place after it, to continue from.")]
    detail_type: Annotated[str, Member("What kind of event it is.")]
    detail: Annotated[Mapping[str, Any], Member("The event; events.schema.json describes it.")]


@dataclass(frozen=True, kw_only=True)
class EventPage(ApiDocument):
    """Events in the order in which they were recorded."""

    events: tuple[FeedEvent, ...]
    cursor: Annotated[str, Member("Where to continue: after these events, and those that a filter has left out.")]
    more: Annotated[bool, Member("Whether there may be further ones now.")]
    missed: Annotated[bool, Member("Whether events after the given cursor may have expired, so that they are missing.")]
