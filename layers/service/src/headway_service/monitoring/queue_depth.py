"""How long the queues are, and since when their oldest jobs wait. The cost does not grow with the backlog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from headway.scheduling.ordering import priority_in
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger
from headway_service.store.queue_scan import end_of_priority
from headway_service.store.records.queue_entry import QueueEntry

MAX_COUNTED = 1000
"""Largest count of the jobs of one queue."""

MAX_PRIORITIES = 20
"""Priorities of one queue whose first jobs are read to find the oldest, highest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """A queue that is not empty: the jobs of a team in a pool, and when the oldest of them was accepted, ms."""

    pool: str
    team: str
    waiting: int
    oldest_ms: int


def backlogs(table: Table, ledger: Ledger) -> Iterator[Backlog]:
    """The queues that are not empty.

    Args:
        table: the table.
        ledger: the ledger.
    """
    for pool in ledger.pools:
        for team in ledger.queue_teams:
            partition = QueueEntry.partition(pool.pool, team)
            oldest_ms = _oldest_ms(table, partition)
            if oldest_ms is not None:
                waiting = table.count_before(partition, "~", limit=MAX_COUNTED)
                yield Backlog(pool=pool.pool, team=team, waiting=waiting, oldest_ms=oldest_ms)


def _oldest_ms(table: Table, partition: str) -> int | None:
    """When the oldest job of a queue was accepted, ms; None if the queue is empty.

    Only the first job of each priority is read. It is the oldest one, unless the policy gives time limits a weight.
    """
    oldest_ms: int | None = None
    after = ""
    for _ in range(MAX_PRIORITIES):
        items = table.query(partition, after=after, limit=1)
        if not items:
            break
        # One that cannot be read hides those of its priority from this gauge only.
        with suppress(UnreadableRecord):
            entry_time = QueueEntry.parse(items[0]).entry_time
            oldest_ms = entry_time if oldest_ms is None else min(oldest_ms, entry_time)
        after = end_of_priority(priority_in(items[0]["sk"]))
    return oldest_ms
