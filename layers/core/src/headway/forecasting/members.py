"""Members of arrays that are no jobs yet: they enter a simulated queue by the rule by which ticks make them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from headway.model import Demand, Snapshot, WaitingJob
from headway.sweeps import member_name
from headway.sweeps.room import largest_sizes, members_in_turn, wanted_members


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrayToCome:
    """An array with members that enter the queue when others have ended.

    It is neither held nor over, and waits for no other job.
    """

    name: str
    #: How many members it has.
    count: int
    #: The job that each member becomes, but for its name.
    member: WaitingJob
    #: What a member can run on, the on-demand instances included that follow spot ones.
    demands: tuple[Demand, ...]
    #: How many may be in the queue or run at once; None for any number.
    at_once: int | None = None
    #: The members before this one have been made, and those of ``early``.
    next_index: int = 0
    early: frozenset[int] = frozenset()
    #: Those that have been made and are in no queue until the array takes them in, before it makes others.
    set_aside: tuple[WaitingJob, ...] = ()
    #: The names of those that are in the queue or run. Some may have ended meanwhile.
    active: frozenset[str] = frozenset()

    @property
    def unmade(self) -> int:
        """How many members are no jobs yet."""
        return self.count - self.next_index - len(self.early)

    @property
    def is_new(self) -> bool:
        """Whether none of its members has been made."""
        return not (self.next_index or self.early)

    def unmade_names(self) -> Iterator[str]:
        """The names of the members that are no jobs yet, in the order in which they are made."""
        indexes = members_in_turn(self.next_index, self.count, self.early)
        return (member_name(self.name, index, self.count) for index in indexes)

    def advance(self, present: Container[str], wanted: int) -> tuple[ArrayToCome, tuple[WaitingJob, ...]]:
        """The array after its next members have entered the queue, and these.

        Args:
            present: the names of the jobs that are in the queue or hold instances.
            wanted: how many members should be there.
        """
        active = frozenset(name for name in self.active if name in present)
        room = max(0, wanted - len(active))
        entering = self.set_aside[:room]
        indexes = tuple(islice(members_in_turn(self.next_index, self.count, self.early), room - len(entering)))
        made = tuple(map(self._job, indexes))
        if not entering and not made and active == self.active:
            return self, ()
        following = indexes[-1] + 1 if indexes else self.next_index
        moved = replace(
            self,
            next_index=following,
            early=frozenset(index for index in self.early if index >= following),
            set_aside=self.set_aside[len(entering) :],
            active=active.union(job.name for job in (*entering, *made)),
        )
        # Between two reads of the table one may have been made that is in both.
        return moved, tuple(job for job in (*entering, *made) if job.name not in present)

    def _job(self, index: int) -> WaitingJob:
        return replace(self.member, name=member_name(self.name, index, self.count))


class MembersToCome:
    """Lets the members of arrays enter as those before them end.

    Args:
        snapshot: the queue as it is; the sizes of its pools, and its policy, stay in force.

    Attributes:
        array_of: by member that has entered, its array.
    """

    def __init__(self, arrays: Iterable[ArrayToCome], snapshot: Snapshot) -> None:
        self.array_of: dict[str, str] = {}
        self._arrays = {each.name: each for each in arrays}
        self._wanted = _wanted(self._arrays.values(), snapshot)

    @property
    def arrays(self) -> tuple[ArrayToCome, ...]:
        """The arrays as they are now."""
        return tuple(self._arrays.values())

    def enter(self, present: Container[str]) -> list[WaitingJob]:
        """The members that enter now.

        Args:
            present: the names of the jobs that are in the queue or hold instances.
        """
        entering: list[WaitingJob] = []
        for name, array in self._arrays.items():
            self._arrays[name], jobs = array.advance(present, self._wanted[name])
            self.array_of.update((job.name, name) for job in jobs)
            entering += jobs
        return entering


def with_members(
    snapshot: Snapshot, arrays: Iterable[ArrayToCome]
) -> tuple[Snapshot, tuple[ArrayToCome, ...], Mapping[str, str]]:
    """The snapshot that the next decision is made from, with the members that enter the queue before it.

    Args:
        snapshot: the queue as it is.

    Returns:
        The snapshot, the arrays after that, and by member that has entered its array.
    """
    members = MembersToCome(arrays, snapshot)
    entering = members.enter(present_in(snapshot))
    if not entering:
        return snapshot, members.arrays, {}
    return replace(snapshot, waiting=(*snapshot.waiting, *entering)), members.arrays, members.array_of


def present_in(snapshot: Snapshot) -> set[str]:
    """The names of the jobs that are in the queue or hold instances."""
    return {job.name for job in snapshot.waiting} | {each.job for each in snapshot.allocations if not each.warm}


def _wanted(arrays: Iterable[ArrayToCome], snapshot: Snapshot) -> dict[str, int]:
    """By array, how many of its members should be in the queue or run."""
    later = ((pool, change.size) for pool, calendar in snapshot.calendars.items() for change in calendar.changes)
    sizes = largest_sizes(snapshot.pools, later)
    return {
        each.name: wanted_members(
            each.demands,
            sizes,
            at_once=each.at_once,
            reserved_heads=snapshot.policy.reserved_heads,
        )
        for each in arrays
    }
