"""The feed of events: its head, and its entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from headway_service.ports.table import Absent, Equals, Key, Put
from headway_service.store.records.base import Record

FEED = "feed"

FEED_KEPT_S = 7 * 86_400
"""How long the feed keeps an event, s."""


class FeedEvent(Record):
    """An event in the feed."""

    id: str
    #: Its ``detail-type`` on the bus.
    detail_type: str
    #: Its ``detail`` on the bus, as JSON: maps of the table would cost more bytes.
    detail: str

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """Its ``detail`` as an object."""
        parsed: Mapping[str, Any] = json.loads(self.detail)
        return parsed


class FeedHead(Record):
    """The position of the newest entry. An entry counts when the head has moved to it."""

    last: int
    #: From this machine time on, ms, entries are written before the head, by themselves: all readers tell those that
    #: count from those that do not. None while older code may append or read.
    alone_from_ms: int | None = None

    KEY: ClassVar[Key] = Key(FEED, "head")

    def put(self, was: FeedHead | None) -> Put:
        """The write that stores it, on condition that the stored one is still ``was``."""
        requires = Absent() if was is None else Equals("last", was.last)
        return Put(item={"pk": self.KEY.pk, "sk": self.KEY.sk, **self.fields(), "last": self.last}, requires=requires)


class FeedEntry(Record):
    """Events that were written together."""

    PREFIX: ClassVar[str] = "entry#"

    #: When it was written, ms; later than each entry before it. So a key is a time and a place in the order.
    position: int
    #: The position of the head when it was written; None for the first entry, and for those of older code.
    after: int | None = None
    events: tuple[FeedEvent, ...]
    #: When the table may forget it, s since the epoch.
    expires_at: int

    @classmethod
    def key(cls, position: int) -> Key:
        """Where the entry of a position is kept."""
        return Key(FEED, f"{cls.PREFIX}{position:013d}")

    def put(self) -> Put:
        """The write that stores it, on condition that there is none at its position."""
        key = self.key(self.position)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=Absent())
