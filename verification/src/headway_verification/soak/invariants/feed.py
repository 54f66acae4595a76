"""What must hold of the feed of events: each event once, those of a job in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from headway_service.feed.committed import committed
from headway_service.feed.cursor import Cursor
from headway_service.feed.read import MAX_EVENTS, EventFilter, FeedReader
from headway_service.ports.clocks import Clocks
from headway_service.store.records.feed import FEED, FeedEntry, FeedHead
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.violations import Violated

_MAX_ENTRIES = 100_000


class FeedFollower:
    """A user who reads the feed each time that it may have grown, and continues where the last page ended.

    Args:
        clock: the virtual time, ms.

    Attributes:
        ids: the ids of the events that it has read.
    """

    def __init__(self, table: MemoryTable, clock: Callable[[], int]) -> None:
        self._reader = FeedReader(table, Clocks(training_ms=clock, machine_ms=clock))
        self._cursor: Cursor | None = None
        self.ids: set[str] = set()

    def read(self) -> None:
        """Read to the end."""
        more = True
        while more:
            page = self._reader.read(self._cursor, EventFilter(), MAX_EVENTS)
            self.ids |= {event.id for _, event in page.events}
            self._cursor, more = page.cursor, page.more

    def begin_again(self) -> None:
        """Read from the beginning, as after a restore of the table."""
        self._cursor = None
        self.ids.clear()


def check_feed(table: MemoryTable, published: Sequence[str], followed: Collection[str]) -> None:
    """Check the feed after all changes were published.

    A table that is restored to an earlier state repeats versions of jobs: of those only what is missing is checked.

    Args:
        published: the ids of events that it must have, in the order of their changes.
        followed: the ids of events that a reader has read that followed it.

    Raises:
        Violated: an event is missing, is there twice, or is before an earlier one of its job, or a reader missed it.
    """
    entries = [FeedEntry.parse(item) for item in table.query(FEED, prefix=FeedEntry.PREFIX, limit=_MAX_ENTRIES)]
    head = table.get(FeedHead.KEY)
    counting = committed(entries, None if head is None else FeedHead.parse(head).last)
    ids = [event.id for entry in counting if not entry.is_link for event in entry.events]
    if missing := set(published) - set(ids):
        raise Violated(f"the feed lacks {min(missing)}")
    if missed := set(ids) - set(followed):
        raise Violated(f"a reader of the feed missed {min(missed)}")
    recorded = _by_subject(ids)
    for job, made in _by_subject(published).items():
        found = recorded[job]
        if made != sorted(set(made)):
            continue
        if len(set(found)) != len(found):
            raise Violated(f"the feed has an event of {job} twice: {found}")
        if found != sorted(found):
            raise Violated(f"the feed has the events of {job} in another order: {found}")


def _by_subject(ids: Iterable[str]) -> dict[str, list[int]]:
    """The versions of each job in the order of the events. Rogue training jobs are subjects, too."""
    versions: dict[str, list[int]] = defaultdict(list)
    for each in ids:
        subject, version = each.rpartition("/")[::2]
        versions[subject].append(int(version))
    return versions
