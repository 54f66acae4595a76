"""What must hold of the feed of events: each event once, those of a job in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from headway_service.store.records.feed import FEED, FeedEntry
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.violations import Violated

_MAX_ENTRIES = 100_000


def check_feed(table: MemoryTable, published: Collection[str]) -> None:
    """Check the feed after all changes were published.

    Args:
        table: the table.
        published: the ids of events that it must have.

    Raises:
        Violated: an event is missing, is there twice, or is before an earlier one of its job.
    """
    entries = table.query(FEED, prefix=FeedEntry.PREFIX, limit=_MAX_ENTRIES)
    ids = [event.id for item in entries for event in FeedEntry.parse(item).events]
    if len(set(ids)) != len(ids):
        raise Violated("the feed has an event twice")
    if missing := set(published) - set(ids):
        raise Violated(f"the feed lacks {min(missing)}")
    versions: dict[str, list[int]] = defaultdict(list)
    for each in ids:
        subject, version = each.rpartition("/")[::2]
        versions[subject].append(int(version))
    for subject, found in versions.items():
        if found != sorted(found):
            raise Violated(f"the feed has the events of {subject} in another order: {found}")
