"""What an attempt has used that has ended, until it is in the averages of teams and in what was used of budgets."""

from __future__ import annotations

from headway.budgets.budget import Held
from headway.past_use.averages import Span
from headway.payers import Payer
from headway_service.ports.table import Delete, Key, Put
from headway_service.store.records.base import LEDGER, Record


class UsedRecord(Record):
    """It is written in one transaction with the end of the attempt, and removed in one with what it is added to."""

    attempt_name: str
    team: str
    owned_by: str = ""
    budget_tags: tuple[str, ...] = ()
    beyond_budget: bool = False
    demand: dict[str, int]
    since_ms: int
    ended_ms: int

    @staticmethod
    def key(attempt: str) -> Key:
        """Where that of an attempt is kept."""
        return Key(LEDGER, f"used#{attempt}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.attempt_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def removal(self) -> Delete:
        """The write that removes it."""
        return Delete(key=self.key(self.attempt_name))

    def span(self) -> Span:
        """What its team has used."""
        return Span(team=self.team, demand=self.demand, begin_ms=self.since_ms, end_ms=self.ended_ms)

    def held(self) -> Held:
        """What it takes from budgets."""
        payer = Payer(team=self.team, owner=self.owned_by, tags=self.budget_tags)
        return Held(
            payer=payer,
            demand=self.demand,
            begin_ms=self.since_ms,
            end_ms=self.ended_ms,
            beyond_budget=self.beyond_budget,
        )
