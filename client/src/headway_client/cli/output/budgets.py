"""Format budgets, and what was used of them."""

from __future__ import annotations

from collections.abc import Iterable

from headway_client.cli.output import times, values
from headway_client.cli.output.table import NONE, Table
from headway_client.models import BudgetUse


def budget_rows(budgets: Iterable[BudgetUse], *, wide: bool = False) -> Table:
    """Return a table with a row for each budget.

    Args:
        wide: also show its team, owner and tag, its grants, and its rule; and times in full.
    """
    headers = ["Budget", "Period", "Amount", "Used", "Part", "Spent Until"]
    if wide:
        headers += ["Team", "Owner", "Tag", "Granted", "When Spent"]
    return Table(headers=headers, rows=[_row(each, wide=wide) for each in budgets])


def _row(budget: BudgetUse, *, wide: bool) -> list[str]:
    amount = budget.amount + budget.granted
    row = [
        budget.name,
        budget.period,
        f"{amount:g}",
        f"{budget.used:.1f}",
        f"{budget.used / amount:.0%}",
        NONE if budget.spent_until is None else times.moment(budget.spent_until, wide=wide),
    ]
    if wide:
        whose = [values.optional(budget.team), values.owner(budget.owner), values.optional(budget.tag)]
        row += [*whose, f"{budget.granted:g}", budget.when_spent]
    return row
