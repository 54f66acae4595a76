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


LAG_MS = 60_000
"""An entry of a chain is written at most this long after its position, ms: it is found by time, and a restored table,
which is older, continues at the time of the write, after all cursors that were given out."""


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
    """Where the chain of entries begins; until then the position of the newest entry."""

    last: int
    #: From this machine time on, ms, a chain may begin: all readers and writers know it. None while older code may run.
    chained_from_ms: int | None = None

    KEY: ClassVar[Key] = Key(FEED, "head")

    def put(self, was: FeedHead | None) -> Put:
        """The write that stores it, on condition that the stored one is still ``was``."""
        requires = Absent() if was is None else Equals("last", was.last)
        return Put(item={"pk": self.KEY.pk, "sk": self.KEY.sk, **self.fields(), "last": self.last}, requires=requires)


class FeedEntry(Record):
    """Events that were written together."""

    PREFIX: ClassVar[str] = "entry#"

    #: Its place in the order, ms: later than each entry before it, and no later than it was written.
    position: int
    #: The position of the head when it was written; None for the first entry, and in a chain.
    after: int | None = None
    #: In a chain: the position of the entry after it, which is about when this one was written, ms. None before the
    #: chain begins.
    next: int | None = None
    #: Whether it only says where the chain continues. Older code reads no entry without events, so it repeats the last
    #: event before it, which that code shows twice.
    is_link: bool = False
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
