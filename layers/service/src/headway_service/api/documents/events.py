"""Pages of the feed of events."""

from __future__ import annotations

from headway.api_documents.events import EventPage, FeedEvent
from headway_service.feed.read import FeedPage


def event_page_document(page: FeedPage) -> EventPage:
    """A page of the feed."""
    events = (
        FeedEvent(cursor=str(cursor), detail_type=event.detail_type, detail=event.document)
        for cursor, event in page.events
    )
    return EventPage(events=tuple(events), cursor=str(page.cursor), more=page.more, missed=page.missed)
