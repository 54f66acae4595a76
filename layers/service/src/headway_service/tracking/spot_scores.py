"""Asks EC2 for the spot placement scores that waiting jobs need, and stores them in the ledger for decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headway.pool_names import SPOT_SUFFIX
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.table import Delete, Table, Write
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.spot_scores import SpotScore, SpotScoresRecord
from headway_service.store.records.queue_entry import QueueEntry

MAX_ENTRIES = 20
"""Jobs at the front of each queue of a spot pool whose alternatives are looked at."""


def refresh_scores(
    table: Table, scores: Callable[[], SpotScores], ledger: Ledger, machine_clock: Callable[[], int]
) -> None:
    """Ask for at most one score, so that a run lasts no longer than one more call; for none without ``spot.minScore``.

    Args:
        scores: makes the client of EC2; called only if a score is due.
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        machine_clock: the machine time, ms.
    """
    spot_pools = [each.pool for each in ledger.pools if each.pool.endswith(SPOT_SUFFIX)]
    if not spot_pools and ledger.spot_scores is None:
        return
    in_force = find_applied(table)
    if in_force is None or in_force.configuration.spot.min_score is None:
        if ledger.spot_scores is not None:
            _write(table, Delete(key=SpotScoresRecord.key()))
        return
    known = ledger.spot_scores or SpotScoresRecord()
    due = known.due(list(_wanted(table, ledger, spot_pools)), machine_clock())
    if due is None:
        return
    pool, count = due
    score = scores().find(pool, count)
    logger.info("asked for a spot placement score", extra={"pool": pool, "count": count, "score": score})
    found = SpotScore(pool=pool, count=count, score=score, asked_ms=machine_clock())
    _write(table, known.with_score(found).put())


def _write(table: Table, write: Write) -> None:
    """Store a change; the next run does it if the table is throttled."""
    try:
        table.write([write])
    except RetryLater as error:
        logger.warning("spot placement scores are not noted now", extra={"error": str(error)})


def _wanted(table: Table, ledger: Ledger, spot_pools: list[str]) -> Iterator[tuple[str, int]]:
    """The spot pools, and numbers of instances, of the alternatives of waiting jobs; queue by queue, in their order."""
    for pool in spot_pools:
        for team in ledger.queue_teams:
            for item in table.query(QueueEntry.partition(pool, team), limit=MAX_ENTRIES):
                for choice in QueueEntry.parse(item).choices:
                    if pool in choice.demand:
                        yield pool, choice.demand[pool]
