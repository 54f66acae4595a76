"""The table: keys, conditions, writes, and its responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Item = Mapping[str, Any]
"""An item of the table: text, whole numbers, booleans, lists and maps of these. It holds ``pk`` and ``sk``."""


MAX_TRANSACTION_WRITES = 100
"""DynamoDB's limit of a TransactWriteItems call (service quota)."""


MAX_ITEM_BYTES = 400 * 1024
"""DynamoDB's limit of an item (service quota)."""


class Key(NamedTuple):
    """The primary key of an item: partition and sort key."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The item does not exist."""


@dataclass(frozen=True, slots=True)
class Equals:
    """The item exists and its attribute has this value."""

    attribute: str
    value: str | int


@dataclass(frozen=True, slots=True)
class AllEqual:
    """The item exists and each of these attributes has its value."""

    values: tuple[tuple[str, str | int | Mapping[str, int]], ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The item exists and its number is at least this."""

    attribute: str
    value: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """The item exists and its attribute has one of these values."""

    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """The item exists and its text holds this one, in the same case."""

    attribute: str
    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Each of these conditions holds."""

    conditions: tuple[Equals | AtLeast, ...]


Condition = Absent | Equals | AllEqual | AtLeast | OneOf | Contains | AllOf


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """Write a whole item."""

    item: Item
    requires: Condition | None = None

    @property
    def key(self) -> Key:
        """The key inside the item."""
        return Key(self.item["pk"], self.item["sk"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """Set attributes of an item, and add to numbers of it."""

    key: Key
    sets: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)
    requires: Condition | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    """Remove an item; no error if it does not exist, unless a condition requires it."""

    key: Key
    requires: Condition | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Write nothing, but let the transaction fail unless the condition holds."""

    key: Key
    requires: Condition


Write = Put | Update | Delete | Check


LISTED = (
    *("jobName", "jobState", "priority", "entryTime", "demand", "team", "owner", "liveAttempt", "held", "reason"),
    *("summary", "schemaVersion"),
)
"""Attributes of a job that the index projects beside its keys; not its history and ended attempts, which may be large.

An index projects at most 20 attributes (DynamoDB API reference, Projection: NonKeyAttributes). So what a listing shows
but does not filter by is in the map ``summary`` (:data:`headway_service.store.records.job.SUMMARY`).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListingPage:
    """A page of the listing and where the next begins (None at the end). Items hold their keys and :data:`LISTED`."""

    items: tuple[Item, ...]
    after: Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPage:
    """A page of a scan and the key after which the next begins (None at the end)."""

    items: tuple[Item, ...]
    after: Key | None


def position_of(item: Item) -> Mapping[str, str]:
    """The position from which a listing continues after this item."""
    return {"listingKey": item["listingKey"], "pk": item["pk"]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The number of items, and the number of those that match."""

    items: int
    matching: int


class Table(Protocol):
    """One table with strongly consistent reads by key and all-or-nothing conditional writes.

    Data for display or for approximate limits is read eventually consistent, which costs half.

    Every method may raise :class:`headway_service.errors.RetryLater` when the table cannot answer now, or its answer
    was lost. A write that ends so may have been carried out.
    """

    def get(self, key: Key) -> Item | None:
        """The item, strongly consistent, or None."""

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """Items by their keys, each strongly consistent, in the order of the keys. Between two, the table may change.

        Args:
            keys: the keys, each once. What does not exist is left out.
        """

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """Items of a partition by ascending sort key, strongly consistent.

        Args:
            pk: the partition.
            prefix: only sort keys that begin so.
            after: only sort keys greater than this (exclusive).
            limit: the largest number of items; the call reads as many pages as necessary.
        """

    def last_before(self, pk: str, sk: str) -> Item | None:
        """The item of a partition with the greatest sort key less than this one, strongly consistent, or None.

        Args:
            pk: the partition.
            sk: the sort key.
        """

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """Items of a partition by ascending sort key, eventually consistent: as they were a moment ago, at half price.

        Args:
            pk: the partition.
            prefix: only sort keys that begin so.
            limit: the largest number of items; the call reads as many pages as necessary.
        """

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """How many items of a partition have a lesser sort key, eventually consistent.

        Args:
            pk: the partition.
            sk: only lesser sort keys count.
            limit: the largest count.
        """

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """The lesser sort keys of a partition, ascending, eventually consistent.

        Args:
            pk: the partition.
            sk: only lesser ones.
            limit: the largest number.
        """

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """The greatest sort keys of a partition, ascending, each with a text of its item; eventually consistent.

        Args:
            pk: the partition.
            attribute: what holds the text; where an item has none, it is empty.
            limit: the largest number.
        """

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """Count the items of a partition, and those of them of which something holds; eventually consistent.

        Args:
            pk: the partition.
            where: what holds of those that are counted apart.
            before: only lesser sort keys count; all without it.
            limit: reads no further after this many, by ascending sort key; a page may have a few more.
        """

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """Jobs of one listing in the order of their listing key, eventually consistent.

        Args:
            name: the listing: ``holding``, ``waiting`` or ``ended``.
            where: only jobs of which all of this holds; on attributes of :data:`LISTED`, and at least one condition.
            after: the position to continue from: of an earlier page, or :func:`position_of` a job.
            limit: reads this many items. A page may have fewer and still have a successor.
            descending: whether the greatest listing key comes first.
        """

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """Items by their keys, with what a listing has of them, eventually consistent, in the order of the keys.

        Args:
            keys: the keys, each once. What does not exist is left out.
        """

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """Items of all partitions, in no order, strongly consistent.

        An item does not move in the table, unlike in a listing: one that exists from before the first page until after
        the last one is in exactly one page. Everything that is read is paid for.

        Args:
            sort_keys: only items with one of these sort keys.
            after: where an earlier page ended.
            limit: reads this many items. A page may have fewer and still have a successor.
        """

    def write(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none.

        Raises:
            Conflict: a condition did not hold; nothing was written. Or it was, by an earlier try with a lost response:
                a repeated single write conflicts with its own effect. The current item shows which.
        """
