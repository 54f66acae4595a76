"""Searches behind the first jobs of queues in which these cannot start, so that they do not hide the others for ever.

A decision reads a queue from its front. Jobs that cannot start (their pool has become smaller, another one that they
need is paused, the limit of their team was lowered) may fill all that it reads. Then each tick reads on behind them,
where the last one has ended, and from the end it begins again. What it finds that could start is noted in the ledger,
and decisions consider it. So each job of the queue is considered at least once in a round, and a round takes one tick
for each :data:`MAX_SEARCHED` entries, or for each :data:`MAX_FOUND` jobs that could start.

A job that comes into the part that was searched is found in the next round. Until then, jobs that rank behind it may
start, as they do behind any job that no decision has considered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from headway.model import Snapshot
from headway.scheduling.ordering import rank_key
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.table import Delete, Put, Table
from headway_service.store.cut_queue import CutQueue
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.unread_jobs import UnreadJobsRecord
from headway_service.store.records.queue_entry import QueueEntry

MAX_SEARCHED = 1000
"""Most entries of one queue that a tick searches behind those that each decision reads."""

MAX_FOUND = 50
"""Most jobs that one search finds, after which the next one continues; as many of the first ones by rank are kept."""

MAX_QUEUES = 10
"""Most queues that one tick searches: those that were searched least recently."""


def search_unread(table: Table, ledger: Ledger, snapshot: Snapshot, cut: Sequence[CutQueue], machine_ms: int) -> bool:
    """Search behind the first jobs of queues, and note what could start.

    Args:
        ledger: the ledger that the last decision was made from.
        snapshot: what it was made from beside that.
        cut: the queues whose first jobs did not tell which ones start.

    Returns:
        Whether a job was found that the decision did not consider.
    """
    known = {(each.pool, each.team): each for each in ledger.unread}
    queues = {(each.bounds.pool, each.bounds.team): each for each in cut}
    least_recent = sorted(queues, key=lambda queue: known[queue].searched_ms if queue in known else 0)
    considered = {rank_key(job.terms.priority, job.terms.turn_ms, job.name) for job in snapshot.waiting}
    writes: list[Put | Delete] = [each.forget() for queue, each in known.items() if queue not in queues]
    is_new = False
    try:
        for queue in least_recent[:MAX_QUEUES]:
            found = _search(table, queues[queue], known.get(queue), considered, machine_ms)
            is_new |= not considered.issuperset(found.latest)
            writes.append(found.put())
        for write in writes:
            table.write([write])
    except RetryLater as error:
        # The next tick does it: what was decided is carried out already.
        logger.warning("jobs behind the first ones of a queue are not searched now", extra={"error": str(error)})
    return is_new


def _search(
    table: Table, cut: CutQueue, known: UnreadJobsRecord | None, considered: AbstractSet[str], machine_ms: int
) -> UnreadJobsRecord:
    """What is known of a queue after the next part of it was searched.

    Args:
        cut: the queue.
        known: what was known of it.
        considered: the sort keys of the jobs that the decision considered.
    """
    pool, team = cut.bounds.pool, cut.bounds.team
    after = cut.after if known is None else max(known.after, cut.after)
    items = table.query(QueueEntry.partition(pool, team), after=after, limit=MAX_SEARCHED)
    latest, last = _first_that_may_start(cut, map(QueueEntry.parse, items))
    if not last and len(items) == MAX_SEARCHED:
        last = str(items[-1]["sk"])
    # What the decision considered is still in the queue, but for what it started: the next decision misses that.
    kept = considered & {*(known.found if known is not None else ())}
    first = sorted({*kept, *latest})[:MAX_FOUND]
    logger.info(
        "searched behind the first jobs of a queue",
        extra={"pool": pool, "team": team, "read": len(items), "found": len(latest), "ended": not last},
    )
    return UnreadJobsRecord(
        pool=pool,
        team=team,
        # From the end it begins again.
        after=last or cut.after,
        first=tuple(first),
        latest=tuple(latest),
        searched_ms=machine_ms,
    )


def _first_that_may_start(cut: CutQueue, entries: Iterable[QueueEntry]) -> tuple[list[str], str]:
    """The sort keys of the first jobs that could start; and of the last of them, if there may be more behind it."""
    found: list[str] = []
    for entry in entries:
        if cut.may_start(entry.waiting()):
            found.append(entry.key().sk)
        if len(found) == MAX_FOUND:
            return found, found[-1]
    return found, ""
