"""How many jobs are on hold. They are in no queue, so they are counted in the listing of the jobs that wait."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.ports.table import Equals, Table
from headway_service.summary.results import HeldCount

MAX_HELD_READ = 1000
"""Waiting jobs among which those on hold are counted. DynamoDB reads fewer if they exceed 1 MB."""

MAX_HELD_AGE_MS = 10_000
"""For how long a count is given again, ms of machine time: unlike the rest of a summary, it grows with the queue."""


class HeldJobs:
    """The last count of this process.

    Args:
        machine_clock: the machine time, ms.
    """

    def __init__(self, table: Table, machine_clock: Callable[[], int]) -> None:
        self._table = table
        self._machine_clock = machine_clock
        self._last: tuple[int, HeldCount] | None = None

    def count(self) -> HeldCount:
        """The jobs that were on hold at most :data:`MAX_HELD_AGE_MS` ago, eventually consistent."""
        now_ms = self._machine_clock()
        # A clock that was set back must not keep a count for hours.
        if self._last is None or not 0 <= now_ms - self._last[0] < MAX_HELD_AGE_MS:
            is_held = Equals(attribute="held", value=True)
            page = self._table.listing("waiting", where=[is_held], after=None, limit=MAX_HELD_READ)
            self._last = now_ms, HeldCount(jobs=len(page.items), is_all=page.after is None)
        return self._last[1]
