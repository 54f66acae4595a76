"""What must hold of the feed of events: each event once, those of a job in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from headway_service.feed.committed import committed
from headway_service.store.records.feed import FEED, FeedEntry, FeedHead
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.violations import Violated

_MAX_ENTRIES = 100_000


def check_feed(table: MemoryTable, published: Sequence[str]) -> None:
    """Check the feed after all changes were published.

    A table that is restored to an earlier state repeats versions of jobs: of those only what is missing is checked.

    Args:
        table: the table.
        published: the ids of events that it must have, in the order of their changes.

    Raises:
        Violated: an event is missing, is there twice, or is before an earlier one of its job.
    """
    entries = [FeedEntry.parse(item) for item in table.query(FEED, prefix=FeedEntry.PREFIX, limit=_MAX_ENTRIES)]
    head = table.get(FeedHead.KEY)
    counting = committed(entries, None if head is None else FeedHead.parse(head).last)
    ids = [event.id for entry in counting for event in entry.events]
    if missing := set(published) - set(ids):
        raise Violated(f"the feed lacks {min(missing)}")
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
    """The versions of each job in the order of the events. Unmanaged training jobs are subjects, too."""
    versions: dict[str, list[int]] = defaultdict(list)
    for each in ids:
        subject, version = each.rpartition("/")[::2]
        versions[subject].append(int(version))
    return versions
