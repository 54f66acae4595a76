"""What must hold of the versions of records: each change makes a later one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headway.lifecycle import TERMINAL
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.ports.table import Key
from headway_verification.soak.violations import require

_LEDGER_KINDS = frozenset({"attempt", "rogue", "warm"})
"""Other versions guard decisions, and may also be made by two that decide the same."""


class VersionWatchedTable(StreamedTable):
    """A table that records which changes of jobs, and of what holds instances, were made from an outdated version."""

    def __init__(self) -> None:
        super().__init__()
        self._lost: list[str] = []
        self._is_restored = False

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Return a context in which items go back to earlier versions."""
        self._is_restored = True
        try:
            yield
        finally:
            self._is_restored = False

    def _store(self, key: Key, item: dict[str, Any] | None) -> None:
        before = self._items.get(key)
        if before is not None and item is not None and before != item and _is_watched(key) and not self._is_restored:
            # A member of an array may replace one that has ended, of a forgotten array of that name.
            is_replaced = before.get("jobState") in TERMINAL
            if item["version"] <= before["version"] and not is_replaced:
                self._lost.append(f"version {before['version']} of {key.pk} {key.sk} is lost")
        super()._store(key, item)

    def check_versions(self) -> None:
        """Check that no change is lost as another one did not see it.

        Raises:
            Violated: one is lost.
        """
        require(not self._lost, "; ".join(self._lost[:1]))


def _is_watched(key: Key) -> bool:
    return key.sk == "job" or (key.pk == "ledger" and key.sk.partition("#")[0] in _LEDGER_KINDS)
