"""What must hold of the sums of idle time: no moment of a pool is in them twice, or without a pass that found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.accounting.idle import MAX_GAP_S
from headway_service.ports.table import Update, Write
from headway_service.store.records.base import LEDGER
from headway_verification.soak.invariants.versions import VersionWatchedTable
from headway_verification.soak.violations import Violated

TOLERANCE_MS = 4_000
"""How far the clocks of two functions may differ."""

_ITEM, _SUMS, _MONTH, _FIGURE = "idle#", "usage#pool#", "00#", "idle."


class IdleWatchedTable(VersionWatchedTable):
    """A table that compares each transaction that counts idle time with the item that the time follows from."""

    def __init__(self) -> None:
        super().__init__()
        self._counted_until_ms: dict[str, int] = {}
        self._violations: list[str] = []

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        keys = [each.key for each in writes if each.key.pk == LEDGER and each.key.sk.startswith(_ITEM)]
        before = {key: self.get(key) for key in keys}
        super().write(writes)
        months, days = _added(writes, months=True), _added(writes, months=False)
        if months != days:
            self._violations.append(f"{months} ms were added to months, and {days} to days")
        pools = {key.sk.removeprefix(_ITEM): key for key in keys}
        for pool in months.keys() | pools.keys():
            key = pools.get(pool)
            found = self._problem(pool, before.get(key) if key else None, self.get(key) if key else None, months)
            if found is not None:
                self._violations.append(f"{pool}: {found}")

    def _problem(
        self, pool: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, added: Mapping[str, int]
    ) -> str | None:
        added_ms = added.get(pool, 0)
        if not added_ms:
            return None
        if before is None or not before["count"]:
            return f"{added_ms} ms are counted, and no pass has found instances idle"
        begin_ms, until_ms = before["sinceMs"], self._counted_until_ms.get(pool, 0)
        length_ms, rest = divmod(added_ms, before["count"])
        end_ms = begin_ms + length_ms
        self._counted_until_ms[pool] = max(end_ms, until_ms)
        if rest or length_ms > MAX_GAP_S * 1000 + TOLERANCE_MS:
            return f"{added_ms} ms of {before['count']} instances are counted"
        if after is not None and after["sinceMs"] != end_ms:
            return f"time is counted until {end_ms}, and the next begins at {after['sinceMs']}"
        if begin_ms < until_ms - TOLERANCE_MS:
            return f"time is counted from {begin_ms} on, and was until {until_ms}"
        return None

    def check_idle(self) -> None:
        """Check all transactions up to now.

        Raises:
            Violated: time is counted twice, or was not idle.
        """
        if self._violations:
            raise Violated(f"idle time: {self._violations[0]}")


def _added(writes: Sequence[Write], *, months: bool) -> dict[str, int]:
    """The idle time that a transaction adds to months, or to days, by pool."""
    found: dict[str, int] = {}
    for each in writes:
        if isinstance(each, Update) and each.key.pk.startswith(_SUMS) and each.key.sk.startswith(_MONTH) is months:
            for name, value in each.adds.items():
                if name.startswith(_FIGURE):
                    pool = name.removeprefix(_FIGURE)
                    found[pool] = found.get(pool, 0) + value
    return found
