"""Sums of usage, and the feed of events from which they are made.

The function `api` needs the run times only, so the accountant and the reader of the feed are imported where they are
made.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from headway_service.accounting.run_times import KnownRunTimes
from headway_service.bootstrap.container import Container

if TYPE_CHECKING:
    from headway_service.accounting.accountant import Accountant
    from headway_service.feed.read import FeedReader


class UsageContainer(Container):
    """For the functions that add what has ended to the sums of usage."""

    @cached_property
    def accountant(self) -> Accountant:
        """Keeps the sums of usage. One for all invocations, as it remembers which names have some."""
        from headway_service.accounting.accountant import Accountant

        return Accountant(self.table, lambda: self.usage_tags, self.clocks.machine_ms, self.run_times.get)

    @cached_property
    def run_times(self) -> KnownRunTimes:
        """The run times of completed jobs. One for all invocations, as it remembers them for some minutes."""
        return KnownRunTimes(self.table, self.clocks)

    @property
    def usage_tags(self) -> tuple[str, ...]:
        """The tags by which the policy wants sums of usage; none before any document was applied."""
        applied = self._applied()
        return tuple(applied.usage_tags) if applied else ()

    @property
    def feed_reader(self) -> FeedReader:
        """Reads the feed of events."""
        from headway_service.feed.read import FeedReader

        return FeedReader(self.table, self.clocks)
