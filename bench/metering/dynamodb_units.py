"""DynamoDB's units of one table, counted by its own rules from the items that are really read and written.

Source: DynamoDB developer guide, "DynamoDB throughput capacity" (read and write request units), "Working with item
sizes and formats", "Managing capacity for transactions", and "Using global secondary indexes: provisioned throughput".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from headway_service.errors import Conflict
from headway_service.ports.table import (
    LISTED,
    Check,
    Condition,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    Put,
    ScanPage,
    Table,
    Tally,
    Update,
    Write,
)

READ_BYTES, WRITE_BYTES = 4096, 1024
EVENTUALLY = 0.5
"""What a read that need not be strongly consistent consumes of one that is."""
_ALL = 1_000_000
_IN_INDEX = {"pk", "sk", "listing", "listingKey", *LISTED}

_ALONE: Mapping[type[Write], str] = {Put: "PutItem", Update: "UpdateItem", Delete: "DeleteItem"}
"""The calls of writes that need no transaction."""

Count = Callable[[str, float], None]


class MeteredTable:
    """A table that counts the units that each call would consume.

    Args:
        table: the called table.
        count: takes `write units`, `read units`, `calls` or the name of a call, and how many.

    Attributes:
        metering_ns: the time of the counting itself, ns, which has to be subtracted when callers are timed.
        table_ns: how long the table took for its callers, which plays DynamoDB in their process.
        clock_ns: the clock by which that is taken, ns; it is to be the one that times the callers.
    """

    def __init__(self, table: Table, count: Count) -> None:
        self._table = table
        self._count = count
        self.metering_ns = self.table_ns = 0
        self.clock_ns: Callable[[], int] = time.perf_counter_ns

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._answering():
            item = self._table.get(key)
        self._read("GetItem", [item] if item else [])
        return item

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._answering():
            found = self._table.get_all(keys)
        self._read_each(keys, each=1.0)
        return found

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._answering():
            items = self._table.query(pk, prefix=prefix, after=after, limit=limit)
        self._read("Query", items)
        return items

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._answering():
            item = self._table.last_before(pk, sk)
        self._read("Query", [item] if item else [])
        return item

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._answering():
            items = self._table.query_for_display(pk, prefix=prefix, limit=limit)
        self._read("Query", items, each=EVENTUALLY)
        return items

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        self._read_before(pk, sk, limit)
        with self._answering():
            return self._table.count_before(pk, sk, limit=limit)

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`. Filtered items are consumed too."""
        self._read_before(pk, sk, limit)
        with self._answering():
            return self._table.keys_before(pk, sk, limit=limit)

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`. Filtered items are consumed too."""
        with self._answering():
            found = self._table.tail(pk, attribute, limit=limit)
        with self._metering():
            read = [item for sk, _ in found if (item := self._table.get(Key(pk, sk))) is not None]
        self._read("Query", read, each=EVENTUALLY)
        return found

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`. What the filter leaves out is consumed too."""
        if before:
            self._read_before(pk, before, limit)
        else:
            with self._metering():
                counted = self._table.query(pk, limit=limit)
            self._read("Query", counted, each=EVENTUALLY)
        with self._answering():
            return self._table.tally(pk, where, before=before, limit=limit)

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.table.Table`. What a filter leaves out is consumed, but not seen here."""
        with self._answering():
            page = self._table.listing(name, where=where, after=after, limit=limit, descending=descending)
        self._read("Query", page.items, each=EVENTUALLY)
        return page

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`. Each item consumes by itself, with all that it has."""
        with self._answering():
            found = self._table.get_listed(keys)
        self._read_each(keys, each=EVENTUALLY)
        return found

    def _read_each(self, keys: Sequence[Key], *, each: float) -> None:
        """Count one batch, in which an item, or that there is none, consumes by itself."""
        with self._metering():
            self._called("BatchGetItem")
            for key in keys:
                size = item_bytes(self._table.get(key) or {})
                self._count("read units", each * _blocks(size, READ_BYTES))

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """See :class:`headway_service.ports.table.Table`. What the filter leaves out is consumed, but not seen here."""
        with self._answering():
            page = self._table.scan(sort_keys, after=after, limit=limit)
        self._read("Scan", page.items)
        return page

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`. A write whose condition fails consumes units too."""
        with self._metering():
            before = [self._table.get(write.key) for write in writes]
        try:
            with self._answering():
                self._table.write(writes)
        except Conflict:
            with self._metering():
                self._written(writes, before, before)
            raise
        with self._metering():
            self._written(writes, before, [self._table.get(write.key) for write in writes])

    def _read_before(self, pk: str, sk: str, limit: int) -> None:
        with self._metering():
            counted = [item for item in self._table.query(pk, limit=_ALL) if item["sk"] < sk][:limit]
        self._read("Query", counted, each=EVENTUALLY)

    def _read(self, call: str, items: Sequence[Item], *, each: float = 1.0) -> None:
        with self._metering():
            self._called(call)
            self._count("read units", each * _blocks(sum(map(item_bytes, items)), READ_BYTES))

    def _called(self, call: str) -> None:
        self._count("calls", 1)
        self._count(call, 1)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        began_ns = self.clock_ns()
        try:
            yield
        finally:
            self.table_ns += self.clock_ns() - began_ns

    @contextmanager
    def _metering(self) -> Iterator[None]:
        began_ns = self.clock_ns()
        yield
        self.metering_ns += self.clock_ns() - began_ns

    def _written(self, writes: Sequence[Write], before: Sequence[Item | None], after: Sequence[Item | None]) -> None:
        # A write alone needs no transaction, but for a check.
        transaction = len(writes) > 1 or isinstance(writes[0], Check)
        self._called("TransactWriteItems" if transaction else _ALONE[type(writes[0])])
        for write, was, is_now in zip(writes, before, after, strict=True):
            size = max(item_bytes(was or {}), 0 if isinstance(write, Delete) else item_bytes(is_now or {}))
            self._use_units(write.key, (2 if transaction else 1) * _blocks(size, WRITE_BYTES), index_units(was, is_now))

    def _use_units(self, key: Key, units: int, of_index: int) -> None:
        """Count the units of one write.

        Args:
            key: the item.
            units: those of the item.
            of_index: those of the listing's index.
        """
        _ = key
        self._count("write units", units + of_index)


def index_units(before: Item | None, after: Item | None) -> int:
    """What the listing's index writes for a change of an item: the old entry removed, a new one put, or one changed."""
    old, new = _entry(before), _entry(after)
    if old == new:
        return 0
    if old and new and all(old[name] == new[name] for name in ("listing", "listingKey")):
        return _blocks(max(item_bytes(old), item_bytes(new)), WRITE_BYTES)
    return sum(_blocks(item_bytes(entry), WRITE_BYTES) for entry in (old, new) if entry)


def item_bytes(item: Mapping[str, Any]) -> int:
    """The size of an item: the names of its attributes and their values."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Any) -> int:
    match value:
        case bool() | None:
            return 1
        case int() | float():
            return len(str(value)) // 2 + 1
        case str():
            return len(value.encode())
        case Mapping():
            return 3 + sum(len(name.encode()) + _value_bytes(each) + 1 for name, each in value.items())
        case _:
            return 3 + sum(_value_bytes(each) + 1 for each in value)


def _entry(item: Item | None) -> dict[str, Any]:
    if item is None or "listing" not in item:
        return {}
    return {name: value for name, value in item.items() if name in _IN_INDEX}


def _blocks(size: int, block: int) -> int:
    return max(1, -(-size // block))
