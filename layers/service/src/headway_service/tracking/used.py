"""Adds what ended attempts have used to the averages of teams (decision 117) and to budgets (decision 118)."""

from __future__ import annotations

from collections.abc import Iterator

from headway.policy import FairShare
from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Delete, Table, Write
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.budgets import BudgetUseRecord
from headway_service.store.records.capacity.past_use import PastUseRecord
from headway_service.store.records.capacity.used import UsedRecord

MAX_ADDED = 90
"""Ended attempts that one run adds: a transaction has 100 writes. The others count meanwhile, too."""


def add_used(table: Table, ledger: Ledger, now_ms: int) -> None:
    """Add ended attempts, and take teams, the half-life and budgets from the configuration.

    Where past use does not count, or there are no budgets, what is left of them is removed.

    Args:
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        now_ms: the training time, ms.
    """
    in_force = find_applied(table)
    if in_force is None:
        return
    policy, added = in_force.configuration.policy(), ledger.used[:MAX_ADDED]
    writes: list[Write] = [each.delete() for each in added]
    writes += _averages(policy.fair_share, ledger, added, now_ms)
    if policy.budgets:
        held = [each.held() for each in added]
        moved = ledger.budget_use.with_held(policy.budgets, held, now_ms)
        writes += [moved.put()] if moved != ledger.budget_use else []
    elif ledger.budget_uses:
        writes.append(Delete(key=BudgetUseRecord.key()))
    try:
        if writes:
            table.write(writes)
    except (Conflict, RetryLater) as error:
        # Another run was faster, or the table is throttled: the next run adds what is left.
        logger.warning("what was used is not noted now", extra={"error": str(error)})


def _averages(rules: FairShare | None, ledger: Ledger, added: tuple[UsedRecord, ...], now_ms: int) -> Iterator[Write]:
    if rules is None:
        if ledger.past_use is not None:
            yield Delete(key=PastUseRecord.key())
        return
    known = ledger.past_use or PastUseRecord.new(now_ms, rules.half_life_ms)
    teams = [*(each.team for each in ledger.teams if each.left_ms is None), ""]
    if added or not known.version or known.half_life_ms != rules.half_life_ms or known.teams.keys() != {*teams}:
        yield known.with_spans(now_ms, [each.span() for each in added], teams, rules.half_life_ms).put()
