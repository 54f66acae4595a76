"""Keeps what teams used on average in the ledger, where past use counts among them (decision 117)."""

from __future__ import annotations

from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Delete, Table, Write
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.past_use import PastUseRecord

MAX_ADDED = 90
"""Ended attempts that one run adds to the averages: a transaction has 100 writes. The others count meanwhile, too."""


def keep_past_use(table: Table, ledger: Ledger, now_ms: int) -> None:
    """Add ended attempts to the averages, and take teams and the half-life from the configuration.

    Where past use does not count, what is left of it is removed.

    Args:
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        now_ms: the training time, ms.
    """
    in_force = find_applied(table) if ledger.past_use or ledger.used or ledger.teams else None
    rules = in_force.configuration.policy().fair_share if in_force else None
    added = ledger.used[:MAX_ADDED]
    writes: list[Write] = [each.delete() for each in added]
    if rules is not None:
        known = ledger.past_use or PastUseRecord.new(now_ms, rules.half_life_ms)
        teams = [*(each.team for each in ledger.teams if each.left_ms is None), ""]
        if not added and known.version and known.half_life_ms == rules.half_life_ms and known.teams.keys() == {*teams}:
            return
        spans = [each.span() for each in added]
        writes.append(known.with_spans(now_ms, spans, teams, rules.half_life_ms).put())
    elif ledger.past_use is not None:
        writes.append(Delete(key=PastUseRecord.key()))
    try:
        if writes:
            table.write(writes)
    except (Conflict, RetryLater) as error:
        # Another run was faster, or the table is throttled: the next run adds what is left.
        logger.warning("past use is not noted now", extra={"error": str(error)})
