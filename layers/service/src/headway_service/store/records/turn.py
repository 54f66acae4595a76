"""Whose turn it is with work that a tick had no time to finish."""

from __future__ import annotations

from headway_service.ports.table import Key, Put
from headway_service.store.records.base import LEDGER, Record


class TurnRecord(Record):
    """The last record that work of one kind has come to. It is written only by a tick whose time did not suffice."""

    work: str
    last: str

    def put(self) -> Put:
        """The write that stores it."""
        key = Key(LEDGER, f"turn#{self.work}")
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})
