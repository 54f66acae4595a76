"""A place in the feed: after how many of its events a reader continues."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headway_service.errors import InvalidRequest
from headway_service.validation_messages import explained

MAX_CURSOR_CHARS = 20
"""The longest cursor: 13 digits, a point, and the number of events of an entry."""

CURSOR_PATTERN = explained(
    r"^([0-9]{13})\.([0-9]{1,6})$", "the cursor of an answer before: take it from there, or leave it out"
)


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in the feed.

    Attributes:
        position: all entries up to this position were read.
        part: events of the entry at the position after it that were read.
    """

    position: int
    part: int = 0

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The place that a reader names.

        Raises:
            InvalidRequest: the text is no cursor.
        """
        found = re.fullmatch(CURSOR_PATTERN, text)
        if found is None:
            raise InvalidRequest("`after` is not a cursor: take it from an answer before, or leave it out")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        """The place as a reader names it. Readers take it as it is."""
        return f"{self.position:013d}.{self.part}"
