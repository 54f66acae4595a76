"""Which entries of the feed count? Pure.

All entries of a chain count, as only one can be where the one before it says. Before the chain, older code has written
an entry before the head moved to it. If another entry was first, the head did not move, and the entry does not count:
its events were written again. What was the head once is named by the head, or by the entry that was written after it,
whether that one counts or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headway_service.store.records.feed import FeedEntry


def committed(entries: Sequence[FeedEntry], last: int | None) -> list[FeedEntry]:
    """Those of consecutive entries that are known to count. Behind the last of them, it is not known yet.

    Args:
        entries: entries of the feed without gaps, in order.
        last: the position in the head; None if it is not known.
    """
    heads = {last, *(each.after for each in entries)}
    # Entries of older code always count, and do not name the entry before them.
    heads |= {each.position for each in entries if _is_of_older_code(each)}
    heads |= {before.position for before, each in pairwise(entries) if _is_of_older_code(each)}
    return [each for each in entries if each.position in heads or each.next is not None]


def _is_of_older_code(entry: FeedEntry) -> bool:
    return entry.after is None and entry.next is None
