"""Refuses jobs of a budget of which nothing is left, where its rule says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from headway.budgets.budget import Spent, WhenSpent, spent
from headway.job_terms import owner_hash
from headway.policy import Policy
from headway.reasons import budget_spent
from headway_service.errors import BudgetSpent
from headway_service.ports.table import Table
from headway_service.store.ledger import read_ledger_for_display
from headway_service.store.records.job import JobRecord


class RefusingBudgets:
    """The budgets that refuse jobs when nothing is left, for the jobs of one call. What was used is read once.

    Submissions at once may all find the last of a budget: those that start later are then held.

    Args:
        policy: the rules in force.
        training_clock: the training time, ms.
    """

    def __init__(self, table: Table, policy: Policy, training_clock: Callable[[], int]) -> None:
        self._table = table
        self._clock = training_clock
        self._budgets = [each for each in policy.budgets if each.when_spent is WhenSpent.REFUSE]

    def require(self, job: JobRecord) -> None:
        """Check that a job could start on something now, as far as these budgets go.

        Raises:
            BudgetSpent: nothing is left of a budget that all that it could run on takes from.
        """
        payer = job.terms(owner_hash(job.owner)).payer
        if not any(each.covers(payer) for each in self._budgets):
            return
        demands = [job.demand, *(each.demand for each in job.choices)]
        for each in self._spent:
            if all(each.holds(payer, demand) for demand in demands):
                raise BudgetSpent(budget_spent(each, self._clock()).message)

    @cached_property
    def _spent(self) -> tuple[Spent, ...]:
        now_ms = self._clock()
        use = read_ledger_for_display(self._table).budget_use_until(now_ms, self._budgets)
        return spent(self._budgets, use, now_ms)
