"""What must hold of past use: the end of each attempt is in the averages once, and these fade as documented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway_service.ports.table import Delete, Key, Put, Write
from headway_service.store.records.base import LEDGER
from headway_verification.soak.invariants.idle import IdleWatchedTable
from headway_verification.soak.violations import Violated

TOLERANCE = 5e-6
"""Instances: averages are kept as millionths, each rounded once for each run that adds to them."""

_AVERAGES, _USED, _ATTEMPT = Key(LEDGER, "past"), "used#", "attempt#"


class PastUseWatchedTable(IdleWatchedTable):
    """A table that compares each transaction that changes past use with what it was made from."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: set[str] = set()
        self._faults: list[str] = []

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        before = self.get(_AVERAGES)
        added = [
            item for each in writes if isinstance(each, Delete) and _is_used(each.key) and (item := self.get(each.key))
        ]
        super().write(writes)
        self._check_ends(writes)
        after = next((each.item for each in writes if isinstance(each, Put) and _key(each) == _AVERAGES), None)
        if after is not None:
            self._faults += _differences(before or {}, after, added)
        elif added and before and Delete(key=_AVERAGES) not in writes:
            self._faults.append(f"{len(added)} attempts are removed without being added")

    def _check_ends(self, writes: Sequence[Write]) -> None:
        for each in writes:
            if isinstance(each, Put) and _is_used(_key(each)):
                attempt = str(each.item["attemptName"])
                ends = [one for one in writes if isinstance(one, Delete) and one.key.sk == f"{_ATTEMPT}{attempt}"]
                if not ends or attempt in self._ended:
                    self._faults.append(f"{attempt} counts without its end, or twice")
                self._ended.add(attempt)

    def check_past_use(self) -> None:
        """Check all transactions up to now.

        Raises:
            Violated: an end counts twice or not at all, or an average is another.
        """
        if self._faults:
            raise Violated(f"past use: {self._faults[0]}")


def _key(put: Put) -> Key:
    return Key(put.item["pk"], put.item["sk"])


def _is_used(key: Key) -> bool:
    return key.pk == LEDGER and key.sk.startswith(_USED)


def _differences(before: Mapping[str, Any], after: Mapping[str, Any], added: Sequence[Mapping[str, Any]]) -> list[str]:
    """How the averages after a run differ from those before, faded, and what was added."""
    now_ms, half_life_ms = int(after["atMs"]), float(before.get("halfLifeMs", after["halfLifeMs"]))
    if half_life_ms != after["halfLifeMs"]:
        # What runs is added until now, which no transaction shows.
        return []
    found = []
    for team, known in after["teams"].items():
        old = before.get("teams", {}).get(team, {})
        fades = 0.5 ** (max(0, now_ms - int(before.get("atMs", now_ms))) / half_life_ms)
        averages = {pool: int(value) / 1e6 * fades for pool, value in old.get("average", {}).items()}
        for each in (one for one in added if old and one.get("team", "") == team):
            begin_ms, end_ms = max(int(each["sinceMs"]), int(old["sinceMs"])), int(each["endedMs"])
            part = 0.5 ** (max(0, now_ms - end_ms) / half_life_ms) - 0.5 ** (max(0, now_ms - begin_ms) / half_life_ms)
            for pool, count in each["demand"].items():
                averages[pool] = averages.get(pool, 0.0) + int(count) * max(0.0, part)
        for pool in {*averages, *known.get("average", {})}:
            wanted = averages.get(pool, 0.0)
            average = int(known.get("average", {}).get(pool, 0)) / 1e6
            if abs(average - wanted) > TOLERANCE:
                found.append(f"team {team!r} has {average} {pool} on average, not {wanted}")
    return found
