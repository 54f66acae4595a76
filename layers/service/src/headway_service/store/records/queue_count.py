"""The largest number of jobs that may wait in a long queue: as it was counted once, and what has entered since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

from pydantic import Field

from headway_service.ports.table import Equals, Item, Key, Put, Update
from headway_service.store.records.base import Record

MAX_COUNT_AGE_MS = 600_000
"""How long a count of a queue is used, ms machine time. What it does not know about is corrected by the next count."""

MAX_COUNTED_OWNERS = 20
"""Most owners with a number of their own in the count of a queue, so that its item stays within a write unit."""

MAX_COUNTED_EACH_TIME = 128
"""Queue length up to which each submission counts the queue; a longer one has a stored count.

To count so many costs 4 read units, which are cheaper than the write unit that keeps a stored count.
"""

_KEPT_S = 3600
"""How long the table keeps a count that is no longer written."""

_OWNER = "owner#"
"""The begin of the attributes with the numbers of owners. They are no map, as the table only adds to attributes."""


class QueueCountRecord(Record):
    """The count of a long queue.

    Jobs that leave the queue are not subtracted, so the numbers are upper bounds, except for jobs that enter without
    being added, until the next count: those that return or enter by themselves, and those that entered during a count.
    """

    items: int
    counted_ms: int
    #: The jobs of the owners with the most, by :func:`headway.job_terms.owner_hash`.
    owners: dict[str, int] = Field(default_factory=dict)
    #: The most jobs that any other owner has.
    others: int
    expires_at: int = 0

    @classmethod
    def parse(cls, item: Item) -> Self:
        """The record in an item."""
        owners = {name.removeprefix(_OWNER): count for name, count in item.items() if name.startswith(_OWNER)}
        return super().parse({**item, "owners": owners})

    @classmethod
    def of(cls, owners: Iterable[str], machine_ms: int) -> Self:
        """The count of a queue.

        Args:
            owners: the hash of the owner of each job in it.
        """
        counted = Counter(owners)
        ranked = counted.most_common()
        most, rest = ranked[:MAX_COUNTED_OWNERS], ranked[MAX_COUNTED_OWNERS:]
        return cls(
            items=counted.total(),
            counted_ms=machine_ms,
            owners={owner: at_least(count) for owner, count in most if owner},
            others=at_least(max((count for _, count in rest), default=0)),
        )

    @staticmethod
    def key(partition: str) -> Key:
        """Where the count of a queue is kept: in a partition of its own, as decisions read that of the queue."""
        return Key(f"count#{partition}", "count")

    def is_current(self, machine_ms: int) -> bool:
        """Whether the count may still be used."""
        return abs(machine_ms - self.counted_ms) <= MAX_COUNT_AGE_MS

    def of_owner(self, owner: str) -> int:
        """The most jobs that an owner has in the queue."""
        return self.owners.get(owner, self.others)

    def put(self, partition: str) -> Put:
        """The write that stores it in place of an earlier one. It is unconditional, as its numbers are bounds only."""
        key = self.key(partition)
        fields = {name: value for name, value in self.fields().items() if name != "owners"}
        owners = {_OWNER + owner: count for owner, count in self.owners.items()}
        return Put(item={"pk": key.pk, "sk": key.sk, **fields, **owners, "expiresAt": _expiry(self.counted_ms)})

    def add(self, partition: str, entered: int, owner: str, machine_ms: int) -> Update:
        """The write that adds jobs that have entered the queue.

        Fails if the queue was counted again since this count was read: the owner may have a number of his own in only
        one of the two. Simultaneous submissions do not conflict.

        Args:
            partition: the queue.
            entered: how many jobs.
            owner: the hash of their owner; empty without one.
        """
        adds = {"items": entered, _OWNER + owner if owner in self.owners else "others": entered}
        return Update(
            key=self.key(partition),
            sets={"expiresAt": _expiry(machine_ms)},
            adds=adds,
            requires=Equals("countedMs", self.counted_ms),
        )

    def correct(self, partition: str, items: int, owner: str, of_owner: int, machine_ms: int) -> Update:
        """The write that replaces the number of all jobs and of one owner's; other owners keep theirs, and their time.

        Args:
            partition: the queue.
            items: how many jobs wait in it.
            owner: the hash of the owner.
            of_owner: how many of them are the owner's.
        """
        sets: dict[str, Any] = {"items": items, "expiresAt": _expiry(machine_ms)}
        if owner in self.owners or len(self.owners) < MAX_COUNTED_OWNERS:
            sets[_OWNER + owner] = at_least(of_owner)
        return Update(key=self.key(partition), sets=sets)


def is_count(item: Item | None) -> bool:
    """Whether an item is a count, and not only what was corrected of one that the table had deleted."""
    return item is not None and "countedMs" in item


def at_least(count: int) -> int:
    """A number of one owner's jobs that stays an upper bound while the queue is short, and nothing is added to it."""
    return max(count, MAX_COUNTED_EACH_TIME)


def _expiry(machine_ms: int) -> int:
    return machine_ms // 1000 + _KEPT_S
