"""Reads which arrays make further members when others end, and which members these are.

A forecast and the place of a job count them. Members that are held, and those of arrays that are held or wait for other
jobs, do not come until somebody or something else lets them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from headway.forecasting.members import ArrayToCome
from headway.sweeps import member_name
from headway_service.arrays.room import member_demands, unlaunchable_members
from headway_service.arrays.turn import may_enter, members_may_enter
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger
from headway_service.store.records.array import ArrayRecord, MembersRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.member import new_member
from headway_service.store.repository import find_job_items

MAX_ARRAYS_TO_COME = 500
"""Arrays that may make members, and members that they have set aside, that are read for one forecast or listing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToCome:
    """The arrays with members that enter the queue when others end.

    Attributes:
        arrays: the arrays.
        is_whole: whether these are all.
    """

    arrays: tuple[ArrayToCome, ...] = ()
    is_whole: bool = True


def read_to_come(table: Table, ledger: Ledger, now_ms: int) -> ToCome:
    """Read the arrays with members that enter the queue when others end, before the queues are read.

    So a member that is made in between is counted.

    Args:
        now_ms: the training time, ms.
    """
    # Ticks leave those alone that rest: there is nothing to do until a person or another job wakes them.
    names = [each.job_name for each in ledger.arrays if not each.rests]
    arrays = [array for array in _read(table, names[:MAX_ARRAYS_TO_COME]) if members_may_enter(array)]
    aside = [name for array in arrays for name in _names(array, (array.members or MembersRecord()).set_aside)]
    free: dict[str, list[JobRecord]] = {}
    for member in _read(table, aside[:MAX_ARRAYS_TO_COME]):
        if may_enter(member):
            free.setdefault(member.member_of, []).append(member)
    found = (
        array_to_come(array, free.get(array.job_name, ()), unlaunchable_members(array, ledger, now_ms))
        for array in arrays
    )
    return ToCome(
        arrays=tuple(each for each in found if each.unmade or each.set_aside),
        is_whole=max(len(names), len(aside)) <= MAX_ARRAYS_TO_COME,
    )


def array_to_come(array: JobRecord, free: Iterable[JobRecord] = (), unlaunchable: Collection[int] = ()) -> ArrayToCome:
    """An array as a forecast needs it.

    Args:
        free: those of its members that are set aside and may enter the queue.
        unlaunchable: those that fill no place.
    """
    numbers, members = array.array or ArrayRecord(count=0), array.members or MembersRecord()
    placeless = {*members.set_aside, *unlaunchable}
    return ArrayToCome(
        name=array.job_name,
        count=numbers.count,
        # No decision depends on when it is made.
        member=new_member(array, 0, array.entry_time).waiting(),
        demands=tuple(member_demands(array)),
        at_once=numbers.at_once,
        next_index=members.next_index,
        early=frozenset(members.early),
        set_aside=tuple(each.waiting() for each in sorted(free, key=JobRecord.rank)),
        active=frozenset(_names(array, (index for index in members.live if index not in placeless))),
    )


def _names(array: JobRecord, indexes: Iterable[int]) -> list[str]:
    count = array.array.count if array.array is not None else 0
    return [member_name(array.job_name, index, count) for index in indexes]


def _read(table: Table, names: Sequence[str]) -> Iterator[JobRecord]:
    """The jobs of these names that exist, without those whose records cannot be read: ticks leave them alone."""
    for item in find_job_items(table, names).values() if names else ():
        with suppress(UnreadableRecord):
            yield JobRecord.parse(item)
