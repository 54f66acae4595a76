"""Which entries of the feed count? Pure.

An entry is written before the head moves to it. If another entry was first, the head does not move, and the entry does
not count: its events are written again. What was the head once is named by the head, or by the entry that was written
after it, whether that one counts or not.
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
    heads |= {each.position for each in entries if each.after is None}
    heads |= {before.position for before, each in pairwise(entries) if each.after is None}
    return [each for each in entries if each.position in heads]
