"""Adds what ended attempts have used to the averages of teams (decision 117) and to budgets (decision 118)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.policy import Policy
from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Delete, Table, Write
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.budgets import BudgetUseRecord
from headway_service.store.records.capacity.past_use import PastUseRecord
from headway_service.store.records.capacity.used import UsedRecord

MAX_ADDED = 90
"""Ended attempts that one transaction adds: it may have 100 writes."""

MAX_REMOVED = 5
"""Damaged items of ended attempts that one run removes."""

MAX_TRANSACTIONS = 10
"""Transactions of one run. Attempts that are left count meanwhile, too, and the next run goes on."""


def add_used(table: Table, ledger: Ledger, now_ms: int) -> None:
    """Add ended attempts, and take teams, the half-life and budgets from the configuration.

    Where past use does not count, or there are no budgets, what is left of them is removed. So is what is damaged:
    nothing is held by it.

    Args:
        ledger: what :func:`headway_service.store.ledger.read_ledger` gave.
        now_ms: the training time, ms.
    """
    # A queue without teams and without any of this needs no read of its configuration.
    known = (ledger.teams, ledger.used, ledger.past_uses, ledger.budget_uses, ledger.unreadable)
    in_force = find_applied(table) if any(known) else None
    if in_force is None:
        return
    adding = _Adding(table, ledger, in_force.configuration.policy(), now_ms)
    try:
        adding.run()
    except (Conflict, RetryLater) as error:
        # Another run was faster, or the table is throttled: the next run adds what is left.
        logger.warning("what was used is not noted now", extra={"error": str(error)})


class _Adding:
    def __init__(self, table: Table, ledger: Ledger, policy: Policy, now_ms: int) -> None:
        self._table = table
        self._ledger = ledger
        self._policy = policy
        self._past = ledger.past_use
        self._budgets = ledger.budget_use
        self._damaged = {each.kind: each.name for each in ledger.unreadable}
        #: The clocks of functions differ; what is in the averages must not be of a time to come.
        times = [now_ms, *(each.ended_ms for each in ledger.used)]
        self._now_ms = max(times if self._past is None else [*times, self._past.at_ms])

    def run(self) -> None:
        used = self._ledger.used
        batches = [used[begin : begin + MAX_ADDED] for begin in range(0, len(used), MAX_ADDED)] or [()]
        # In one with the first ends, which count no more then.
        removals = [*self._removals()]
        for batch in batches[:MAX_TRANSACTIONS]:
            added = [*self._averages(batch), *self._budget_use(batch)]
            self._write([*(each.removal() for each in batch), *added, *removals])
            removals = []
        left = sum(map(len, batches[MAX_TRANSACTIONS:]))
        if left:
            logger.warning("ended attempts are left to be added to what was used", extra={"count": left})
        else:
            self._write([*self._other_half_life()])

    def _write(self, writes: Sequence[Write]) -> None:
        if writes:
            self._table.write(writes)

    def _averages(self, added: Sequence[UsedRecord]) -> Iterator[Write]:
        rules, teams = self._policy.fair_share, [*self._policy.teams, ""]
        if rules is None:
            return
        known = self._past or PastUseRecord.new(self._now_ms, rules.half_life_ms)
        if added or not known.version or known.teams.keys() != {*teams}:
            yield self._put_past(known.with_spans(self._now_ms, [each.span() for each in added], teams))

    def _put_past(self, moved: PastUseRecord) -> Write:
        self._past = moved.model_copy(update={"version": moved.version + 1})
        return moved.put(over_damaged="past" in self._damaged)

    def _budget_use(self, added: Sequence[UsedRecord]) -> Iterator[Write]:
        if self._policy.budgets:
            held = [each.held() for each in added]
            moved = self._budgets.with_held(self._policy.budgets, held, self._now_ms)
            if moved != self._budgets:
                self._budgets = moved.model_copy(update={"version": moved.version + 1})
                yield moved.put(over_damaged="budgets" in self._damaged)

    def _other_half_life(self) -> Iterator[Write]:
        """From now on past use fades in another time; what runs has faded until now in the one of before."""
        rules, known = self._policy.fair_share, self._past
        if rules is not None and known is not None and known.half_life_ms != rules.half_life_ms:
            running = [each.span() for each in self._ledger.running_until(self._now_ms)]
            yield self._put_past(known.fading_in(rules.half_life_ms, self._now_ms, running))

    def _removals(self) -> Iterator[Write]:
        if self._policy.fair_share is None and self._past is not None:
            yield Delete(key=PastUseRecord.key())
        if not self._policy.budgets and self._ledger.budget_uses:
            yield Delete(key=BudgetUseRecord.key())
        damaged = [each for each in self._ledger.unreadable if each.kind == "used"]
        yield from (Delete(key=UsedRecord.key(each.name)) for each in damaged[:MAX_REMOVED])
