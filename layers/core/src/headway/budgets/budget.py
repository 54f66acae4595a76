"""Budgets, and what was used of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from headway.budgets.periods import Period, counted_on, counts_until_ms, first_day
from headway.days import begin_ms, split
from headway.payers import Payer, Whose

HOUR_MS = 3_600_000


class WhenSpent(StrEnum):
    """What becomes of the jobs of a budget that is spent. What runs goes on."""

    #: They wait until something is left again.
    HOLD = "hold"
    #: They run on what no job within its budgets can use, and give way to each of these. Nothing of that is counted.
    AFTER = "after"
    #: And no further job is accepted until then.
    REFUSE = "refuse"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """More for a time."""

    amount: float
    #: It counts until then, ms.
    until_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget(Whose):
    """What the jobs of a team, of an owner or with a tag may use in a period."""

    name: str
    amount: float
    period: Period
    #: What an instance hour of each pool takes; of others nothing.
    charges: Mapping[str, float]
    when_spent: WhenSpent = WhenSpent.HOLD
    grants: tuple[Grant, ...] = ()

    def charges_for(self, demand: Mapping[str, int]) -> float:
        """What a demand takes in an hour."""
        return sum(self.charges.get(pool, 0.0) * count for pool, count in demand.items())

    def amount_at(self, now_ms: int) -> float:
        """The amount with what is granted at a moment, ms."""
        return self.amount + sum(each.amount for each in self.grants if now_ms < each.until_ms)


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Instances that a job held for a time.

    Attributes:
        payer: who is charged.
        demand: instances per pool.
        begin_ms: since when.
        end_ms: until when.
        beyond_budget: whether it was started although a budget was spent.
    """

    payer: Payer
    demand: Mapping[str, int]
    begin_ms: int
    end_ms: int
    beyond_budget: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetUse:
    """What was used of a budget, by the day that it is counted under (:func:`headway.budgets.periods.counted_on`)."""

    by_day: Mapping[date, float] = field(default_factory=dict)

    def and_held(self, budget: Budget, held: Iterable[Held], now_ms: int) -> BudgetUse:
        """What counts at a moment, ms, with what was held as well."""
        found = dict(self.counting(budget, now_ms).by_day)
        # A damaged record may say that an attempt runs since for ever.
        counts_from_ms = begin_ms(first_day(now_ms, budget.period))
        for each in held:
            is_free = each.beyond_budget and budget.when_spent is WhenSpent.AFTER
            charge = budget.charges_for(each.demand) if budget.covers(each.payer) and not is_free else 0.0
            if charge:
                for day, time_ms in split(max(each.begin_ms, counts_from_ms), min(each.end_ms, now_ms)).items():
                    counted = counted_on(day, budget.period)
                    found[counted] = found.get(counted, 0.0) + charge * time_ms / HOUR_MS
        return BudgetUse(by_day=found)

    def counting(self, budget: Budget, now_ms: int) -> BudgetUse:
        """Only what still counts at a moment, ms."""
        kept = {day: used for day, used in self.by_day.items() if counts_until_ms(day, budget.period) > now_ms}
        return BudgetUse(by_day=kept)

    def used(self, budget: Budget, now_ms: int) -> float:
        """How much counts at a moment, ms."""
        return sum(self.counting(budget, now_ms).by_day.values())

    def spent_until_ms(self, budget: Budget, now_ms: int) -> int | None:
        """Until when nothing is left, ms, if nothing more is used; None if something is left.

        A grant that ends before, or comes, makes that another time.
        """
        amount, by_day = budget.amount_at(now_ms), self.counting(budget, now_ms).by_day
        left = sum(by_day.values())
        if left < amount:
            return None
        for day in sorted(by_day):
            left -= by_day[day]
            if left < amount:
                return counts_until_ms(day, budget.period)
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """A budget of which nothing is left.

    Attributes:
        budget: the budget.
        used: what was used of it.
        amount: what may be used, with what is granted.
        until_ms: until when, if nothing more is used.
    """

    budget: Budget
    used: float
    amount: float
    until_ms: int

    def holds(self, payer: Payer, demand: Mapping[str, int]) -> bool:
        """Whether it keeps such a job from starting on these instances."""
        return self.budget.covers(payer) and self.budget.charges_for(demand) > 0


def spent(budgets: Iterable[Budget], use: Mapping[str, BudgetUse], now_ms: int) -> tuple[Spent, ...]:
    """The budgets of which nothing is left.

    Args:
        budgets: all of them.
        use: what was used, by name.
        now_ms: the moment, ms.
    """
    found = []
    for budget in budgets:
        of = use.get(budget.name, BudgetUse())
        until_ms = of.spent_until_ms(budget, now_ms)
        if until_ms is not None:
            used, amount = of.used(budget, now_ms), budget.amount_at(now_ms)
            found.append(Spent(budget=budget, used=used, amount=amount, until_ms=until_ms))
    return tuple(found)
