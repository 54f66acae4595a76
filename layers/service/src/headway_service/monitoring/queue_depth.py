"""How long the queues are, and since when their oldest jobs wait. The cost does not grow with the backlog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from headway.model import WaitingJob
from headway.scheduling.ordering import priority_in
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Table
from headway_service.store.ledger import Ledger
from headway_service.store.queue_scan import end_of_priority
from headway_service.store.records.queue_entry import QueueEntry

MAX_COUNTED = 1000
"""Largest count of the jobs of one queue; those that SageMaker has refused are looked for among as many first ones."""

MAX_PRIORITIES = 20
"""Priorities of one queue whose first jobs are read to find the oldest, highest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """A queue that is not empty: the jobs of a team in a pool."""

    pool: str
    team: str
    waiting: int
    #: When the oldest of them was accepted, ms.
    oldest_ms: int
    #: Those whose last launch on their first preference got no instances.
    failed: tuple[WaitingJob, ...] = ()


def backlogs(table: Table, ledger: Ledger) -> Iterator[Backlog]:
    """The queues that are not empty.

    To read entries costs as many calls and read units as to count them, so that jobs whose launches got no instances
    are found without another read, wherever in these queues they are.
    """
    for pool in ledger.pools:
        for team in ledger.queue_teams:
            partition = QueueEntry.partition(pool.pool, team)
            oldest_ms = _oldest_ms(table, partition)
            if oldest_ms is not None:
                entries = table.query_for_display(partition, limit=MAX_COUNTED)
                yield Backlog(
                    pool=pool.pool,
                    team=team,
                    waiting=len(entries),
                    oldest_ms=oldest_ms,
                    failed=tuple(_failed(entries)),
                )


def _failed(entries: Iterable[Item]) -> Iterator[WaitingJob]:
    for entry in entries:
        if entry.get("failed"):
            with suppress(UnreadableRecord):
                yield QueueEntry.parse(entry).waiting()


def _oldest_ms(table: Table, partition: str) -> int | None:
    """When the oldest job of a queue was accepted, ms; None if the queue is empty.

    Only the first job of each priority is read. It is the oldest one in the order ``fifo``.
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
