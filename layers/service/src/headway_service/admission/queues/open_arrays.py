"""Which arrays of a team have members left, and how many of these are no jobs yet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from headway.job_terms import owner_hash
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Table
from headway_service.store.records.array import OpenArrayRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job_items

MAX_OPEN_ARRAYS = 10_000
"""Most arrays of all teams that have members left: each tick, and each submission of another one, reads the list."""

_READ_TOGETHER = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class _OpenArray:
    owned_by: str
    unmade: int = 0
    pools: tuple[str, ...] = ()

    @classmethod
    def of(cls, array: JobRecord) -> _OpenArray:
        unmade = array.array.unmade if array.array is not None and array.ending is None else 0
        return cls(owned_by=owner_hash(array.owner), unmade=unmade, pools=tuple(array.pools))


class OpenArrays:
    """The arrays of a team that have members left.

    Args:
        by_name: the arrays.
        of_all_teams: how many there are of all teams, up to one more than :data:`MAX_OPEN_ARRAYS`.
    """

    def __init__(self, by_name: dict[str, _OpenArray], of_all_teams: int) -> None:
        self._by_name = by_name
        self.of_all_teams = of_all_teams

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def count(self, mark: str | None = None) -> int:
        """How many there are.

        Args:
            mark: the hash of an owner, to count those of that; None to count all.
        """
        return sum(mark in {None, each.owned_by} for each in self._by_name.values())

    def unmade(self, mark: str, *, beside: str) -> dict[str, tuple[int, int]]:
        """By pool, the members that are no jobs yet: all, and those of an owner.

        Args:
            mark: the hash of the owner.
            beside: the array that is not counted.
        """
        found: dict[str, tuple[int, int]] = {}
        for name, each in self._by_name.items():
            if name == beside:
                continue
            own = each.unmade * (each.owned_by == mark)
            for pool in each.pools:
                items, matching = found.get(pool, (0, 0))
                found[pool] = (items + each.unmade, matching + own)
        return found

    def join(self, array: JobRecord) -> None:
        """Count an array that has entered."""
        self._by_name[array.job_name] = _OpenArray.of(array)
        self.of_all_teams += 1


def read_open_arrays(table: Table, team: str) -> OpenArrays:
    """Read the arrays of a team that have members left, many with one call.

    If there are more of all teams than :data:`MAX_OPEN_ARRAYS`, some are not read.

    Args:
        team: the team; empty for none.
    """
    items = table.query(LEDGER, prefix=OpenArrayRecord.key("").sk, limit=MAX_OPEN_ARRAYS + 1)
    listed = [each for each in _readable(items) if each.team in {None, team}]
    by_name: dict[str, _OpenArray] = {}
    for first in range(0, len(listed), _READ_TOGETHER):
        some = listed[first : first + _READ_TOGETHER]
        found = find_job_items(table, [each.job_name for each in some])
        for each in some:
            if each.job_name in found:
                _add(by_name, each, found[each.job_name], team)
    return OpenArrays(by_name, len(items))


def _readable(items: Iterable[Item]) -> Iterable[OpenArrayRecord]:
    """Those of which the record can be read; the others count only among those of all teams."""
    for item in items:
        with suppress(UnreadableRecord):
            yield OpenArrayRecord.parse(item)


def _add(by_name: dict[str, _OpenArray], listed: OpenArrayRecord, item: Item, team: str) -> None:
    try:
        array = JobRecord.parse(item)
    except UnreadableRecord:
        # Ticks leave it alone, so it makes no further members.
        by_name[listed.job_name] = _OpenArray(owned_by=listed.owned_by or "")
        return
    if array.team == team and not array.is_over:
        by_name[listed.job_name] = _OpenArray.of(array)
