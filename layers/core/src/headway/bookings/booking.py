"""Instances of a pool that are kept for some jobs, at some times or always."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headway.days import DAY_MS
from headway.payers import Whose

WEEK_MS = 7 * DAY_MS

HORIZON_MS = 35 * DAY_MS
"""How far ahead bookings are seen: longer than an attempt may hold its instances. What comes then counts as kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Booking(Whose):
    """Instances that other jobs may not use."""

    name: str
    #: What it is, in words, such as ``booking `night` ``.
    about: str
    pool: str
    count: int
    #: From when and until when they are kept, ms; None for always.
    from_ms: int | None = None
    to_ms: int | None = None
    #: Whether they are kept again each week. Its weeks have 168 hours, whatever clocks do.
    weekly: bool = False
    #: So long after the begin of a window those are given back that none of its jobs holds or waits for, ms; None for
    #: never.
    lapse_ms: int | None = None

    def window(self, at_ms: int) -> tuple[int, int] | None:
        """The begin and the end of the window that is open at a time, ms; None if none is, or if it is always open."""
        if self.from_ms is None or self.to_ms is None:
            return None
        weeks = max(0, (at_ms - self.from_ms) // WEEK_MS) if self.weekly else 0
        begin_ms, end_ms = self.from_ms + weeks * WEEK_MS, self.to_ms + weeks * WEEK_MS
        return (begin_ms, end_ms) if begin_ms <= at_ms < end_ms else None

    def next_window(self, at_ms: int) -> tuple[int, int] | None:
        """The begin and the end of the first window that begins after a time, ms; None if none does."""
        if self.from_ms is None or self.to_ms is None:
            return None
        weeks = max(0, (at_ms - self.from_ms) // WEEK_MS + 1) if self.weekly else 0
        begin_ms = self.from_ms + weeks * WEEK_MS
        return (begin_ms, self.to_ms + weeks * WEEK_MS) if begin_ms > at_ms else None

    def count_at(self, at_ms: int) -> int:
        """How many instances are kept at a time, ms."""
        is_open = self.from_ms is None or self.window(at_ms) is not None
        return self.count if is_open else 0

    def has_lapsed(self, at_ms: int) -> bool:
        """Whether only those are kept, at a time, ms, that its jobs hold or wait for."""
        window = self.window(at_ms)
        return self.lapse_ms is not None and window is not None and at_ms >= window[0] + self.lapse_ms

    def times(self, from_ms: int) -> Iterator[int]:
        """When windows begin or end after a time and within the horizon, ms."""
        if self.from_ms is None or self.to_ms is None:
            return
        # A window that has begun ends as well.
        weeks = max(0, (from_ms - self.to_ms) // WEEK_MS) if self.weekly else 0
        while True:
            begin_ms, end_ms = self.from_ms + weeks * WEEK_MS, self.to_ms + weeks * WEEK_MS
            if begin_ms > from_ms + HORIZON_MS:
                return
            yield from (at_ms for at_ms in (begin_ms, end_ms) if from_ms < at_ms <= from_ms + HORIZON_MS)
            if not self.weekly:
                return
            weeks += 1

    def decided_at(self, from_ms: int) -> Iterator[int]:
        """When another number of instances may be left to others, after a time and within the horizon, ms."""
        for at_ms in self.times(from_ms):
            yield at_ms
            if self.lapse_ms is not None and self.window(at_ms) is not None:
                yield at_ms + self.lapse_ms
        window = self.window(from_ms)
        if window is not None and self.lapse_ms is not None and window[0] + self.lapse_ms > from_ms:
            yield window[0] + self.lapse_ms

    def most_after(self, at_ms: int) -> int:
        """The most that are kept at any time from one on, ms."""
        is_over = self.to_ms is not None and not self.weekly and self.to_ms <= at_ms
        return 0 if is_over else self.count
