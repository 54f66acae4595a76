"""What was used of budgets, by the day that it is counted under, in one item."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from pydantic import Field

from headway.budgets.budget import Budget, BudgetUse, Held
from headway_service.ports.table import Key, Put
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.versioned import VersionedRecord

_MILLIONTHS = 1_000_000
"""The table keeps whole numbers."""


class BudgetUseRecord(VersionedRecord):
    """What ended attempts have used. Only reconcile runs write it."""

    #: By name of the budget, and by day: millionths.
    used: dict[str, dict[str, int]] = Field(default_factory=dict)
    #: Of each: what it is for, so that another budget of the same name starts from zero.
    kinds: dict[str, str] = Field(default_factory=dict)

    @staticmethod
    def key() -> Key:
        """Where it is kept."""
        return Key(LEDGER, "budgets")

    def put(self, *, over_damaged: bool = False) -> Put:
        """The write that stores its next version: see :meth:`put_at`."""
        return self.put_at(self.key(), over_damaged=over_damaged)

    def use(self, budget: Budget, held: Iterable[Held], now_ms: int) -> BudgetUse:
        """What was used of a budget and counts at a moment, ms.

        Args:
            held: what is not in it, such as what runs.
        """
        known = self.used.get(budget.name, {}) if self.kinds.get(budget.name) == kind_of(budget) else {}
        by_day = {date.fromisoformat(day): value / _MILLIONTHS for day, value in known.items()}
        return BudgetUse(by_day=by_day).and_held(budget, held, now_ms)

    def with_held(self, budgets: Iterable[Budget], held: Iterable[Held], now_ms: int) -> BudgetUseRecord:
        """The record of these budgets with what was held, without what counts no more at a moment, ms."""
        parts, used, kinds = [*held], {}, {}
        for each in budgets:
            left = self.use(each, parts, now_ms).by_day
            used[each.name] = {day.isoformat(): round(value * _MILLIONTHS) for day, value in sorted(left.items())}
            kinds[each.name] = kind_of(each)
        return self.model_copy(update={"used": used, "kinds": kinds})


def kind_of(budget: Budget) -> str:
    """What a budget is for: if it changes, what was used of it before is of another one."""
    return f"{budget.period!r} {budget.team} {budget.owner} {budget.tag}"
