"""A digest of a week's usage. That it is in the table has it published, once in effect: by the table's stream."""

from __future__ import annotations

from datetime import date

from headway_service.ports.table import Absent, Key, Put
from headway_service.store.records.base import Record

DIGEST = "digest"

DIGEST_KEPT_S = 30 * 86_400
"""For how long a digest is kept, s: longer than it may be late, so that it is sent once."""


class DigestRecord(Record):
    """A digest."""

    #: The day on which it is sent.
    day: str
    #: Its event, as JSON.
    detail: str
    #: When the table may forget it, s since the epoch.
    expires_at: int

    @classmethod
    def key(cls, day: date) -> Key:
        """Where the digest of a day is kept."""
        return Key(DIGEST, day.isoformat())

    def put(self) -> Put:
        """The write that stores it, on condition that there is none of its day."""
        return Put(item={"pk": DIGEST, "sk": self.day, **self.fields()}, requires=Absent())
