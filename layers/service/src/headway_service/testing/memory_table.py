"""The table in memory: for tests, benchmarks and the simulator, held to the same contract suite as DynamoDB."""

from __future__ import annotations

import json
import marshal
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from headway_service.errors import Conflict
from headway_service.ports.table import (
    LISTED,
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_WRITES,
    Absent,
    AllEqual,
    AllOf,
    AtLeast,
    Check,
    Condition,
    Contains,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    OneOf,
    Put,
    ScanPage,
    Tally,
    Update,
    Write,
    position_of,
)

_Place = tuple[str, str, str]
"""The position of an item in a listing: ``listingKey``, then its primary key."""

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
_LAST = chr(0x10FFFF)

_MAX_PARTITION_KEY_BYTES = 2048
_MAX_SORT_KEY_BYTES = 1024
"""DynamoDB refuses calls with longer keys (developer guide, "Service, account, and table quotas")."""

_PLAIN_MARSHAL = 2
"""The newest format in which a value that comes twice is written twice."""


class MemoryTable:
    """A table in memory. Safe for use by several threads; a write is atomic.

    Partitions and listings are kept sorted, so that reading a few items of a hundred thousand costs a few items.
    """

    def __init__(self) -> None:
        self._items: dict[Key, dict[str, Any]] = {}
        self._sort_keys: dict[str, list[str]] = {}
        self._listings: dict[str, list[_Place]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        _check_key(key.pk, key.sk)
        with self._lock:
            item = self._items.get(key)
            return None if item is None else _copy(item)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            found = (self._items.get(key) for key in keys)
            return tuple(_copy(item) for item in found if item is not None)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        _check_key(pk)
        with self._lock:
            keys = self._sort_keys.get(pk, [])
            first = max(bisect_left(keys, prefix), bisect_right(keys, after))
            found = takewhile(lambda sk: sk.startswith(prefix), islice(keys, first, first + limit))
            return tuple(_copy(self._items[Key(pk, sk)]) for sk in found)

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            keys = self._sort_keys.get(pk, [])
            number = bisect_left(keys, sk)
            return _copy(self._items[Key(pk, keys[number - 1])]) if number else None

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self.query(pk, prefix=prefix, limit=limit)

    def items(self) -> list[Item]:
        """All items as they are stored, in no order. To be read only."""
        with self._lock:
            return list(self._items.values())

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            return min(limit, bisect_left(self._sort_keys.get(pk, []), sk))

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            keys = self._sort_keys.get(pk, [])
            return tuple(keys[: min(limit, bisect_left(keys, sk))])

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            read = self._sort_keys.get(pk, [])[-limit:]
            return tuple((sk, self._items[Key(pk, sk)].get(attribute, "")) for sk in read)

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            keys = self._sort_keys.get(pk, [])
            read = keys[: min(limit, bisect_left(keys, before) if before else limit)]
            found = [self._items[Key(pk, sk)].get(where.attribute) for sk in read]
            return Tally(items=len(read), matching=found.count(where.value))

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            places = self._listings.get(name, [])
            # Like DynamoDB: the limit counts items read, and the filter is applied to them.
            if descending:
                end = len(places) if after is None else bisect_left(places, (after["listingKey"], after["pk"]))
                read = places[max(0, end - limit) : end][::-1]
                more = end > limit
            else:
                first = 0 if after is None else bisect_right(places, (after["listingKey"], after["pk"], _LAST))
                read = places[first : first + limit]
                more = len(places) > first + limit
            items = [_listed_part(self._items[Key(pk, sk)]) for _, pk, sk in read]
            kept = tuple(_copy(item) for item in items if all(holds(condition, item) for condition in where))
            tail = position_of(items[-1]) if more else None
            return ListingPage(items=kept, after=tail)

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            found = (self._items.get(key) for key in keys)
            return tuple(_copy(_projected(item)) for item in found if item is not None)

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """See :class:`headway_service.ports.table.Table`."""
        with self._lock:
            # Like DynamoDB: the limit counts items read, and the filter is applied to them.
            read = sorted(key for key in self._items if after is None or key > after)
            page = read[:limit]
            found = tuple(_copy(self._items[key]) for key in page if key.sk in sort_keys)
            return ScanPage(items=found, after=page[-1] if len(read) > limit else None)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        keys = [write.key for write in writes]
        if len(writes) > MAX_TRANSACTION_WRITES:
            raise ValueError(f"a transaction holds at most {MAX_TRANSACTION_WRITES} writes, not {len(writes)}")
        if len(set(keys)) != len(keys):
            raise ValueError("a transaction holds at most one write for an item")
        with self._lock:
            failed = [
                i
                for i, (write, key) in enumerate(zip(writes, keys, strict=True))
                if not holds(write.requires, self._items.get(key))
            ]
            if failed:
                raise Conflict(failed)
            written = [(key, self._after(write, key)) for write, key in zip(writes, keys, strict=True)]
            for key, item in written:
                self._store(key, item)

    def _after(self, write: Write, key: Key) -> dict[str, Any] | None:
        """The item after a write; None if there is none any more."""
        was = self._items.get(key)
        item: dict[str, Any]
        match write:
            case Put():
                item = _copy(write.item)
            case Update():
                # Stored items are never changed in place, so their contents may be shared.
                item = {"pk": key.pk, "sk": key.sk} if was is None else {**was}
                item |= _copy(write.sets)
                for attribute, number in write.adds.items():
                    item[attribute] = item.get(attribute, 0) + number
            case Delete():
                return None
            case Check():
                return was
        if _is_large(item):
            raise ValueError(f"an item holds at most {MAX_ITEM_BYTES} bytes")
        return item

    def _store(self, key: Key, item: dict[str, Any] | None) -> None:
        was = self._items.get(key)
        if was is None and item is not None:
            insort(self._sort_keys.setdefault(key.pk, []), key.sk)
        elif was is not None and item is None:
            _remove_element(self._sort_keys, key.pk, key.sk)
        left, entered = _listed(key, was), _listed(key, item)
        if left != entered:
            if left is not None:
                _remove_element(self._listings, *left)
            if entered is not None:
                insort(self._listings.setdefault(entered[0], []), entered[1])
        if item is None:
            self._items.pop(key, None)
        else:
            self._items[key] = item


def _check_key(pk: str, sk: str = "") -> None:
    """Fail like DynamoDB, whose ValidationException is a fault of the caller's code.

    Args:
        pk: the partition key.
        sk: the sort key; empty for all of a partition.
    """
    if len(pk.encode()) > _MAX_PARTITION_KEY_BYTES or len(sk.encode()) > _MAX_SORT_KEY_BYTES:
        raise ValueError(f"a key is too long for DynamoDB: {pk[:20]}… {sk[:20]}…")


def _copy(item: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing that can change. Items are JSON-like, so this is far quicker than ``deepcopy``."""
    copy = dict(item)
    for name, value in copy.items():
        if value.__class__ not in _PLAIN:
            copy[name] = _copy_of(value)
    return copy


_PROJECTED = frozenset({"pk", "sk", *LISTED})
_IN_LISTING = _PROJECTED | {"listing", "listingKey"}

_PLAIN = frozenset({str, int, bool, float, type(None)})


def _copy_of(value: Any) -> Any:
    # Asking for the class first is many times as quick as asking an abstract base class.
    if value.__class__ is dict or isinstance(value, Mapping):
        return _copy(value)
    if isinstance(value, list | tuple):
        return [each if each.__class__ in _PLAIN else _copy_of(each) for each in value]
    return value


def _is_large(item: dict[str, Any]) -> bool:
    """Whether an item holds more than it may."""
    try:
        # This is several times as quick as JSON, of which no text is eight times as long.
        if 8 * len(marshal.dumps(item, _PLAIN_MARSHAL)) <= MAX_ITEM_BYTES:
            return False
    except ValueError:  # it holds something else than plain values
        pass
    return len(_encode(item).encode()) > MAX_ITEM_BYTES


def _projected(item: Item) -> Item:
    """What a listing has of an item that is read by its key."""
    return {name: value for name, value in item.items() if name in _PROJECTED}


def _listed_part(item: Item) -> Item:
    """What the index holds of an item."""
    return {name: value for name, value in item.items() if name in _IN_LISTING}


def _listed(key: Key, item: Mapping[str, Any] | None) -> tuple[str, _Place] | None:
    """The listing that contains an item, and its position."""
    if item is None or "listing" not in item:
        return None
    return item["listing"], (item["listingKey"], key.pk, key.sk)


def _remove_element(lists: dict[str, list[Any]], name: str, element: Any) -> None:
    """Remove an element of a sorted list, and the list with its last element."""
    elements = lists[name]
    del elements[bisect_left(elements, element)]
    if not elements:
        del lists[name]


def holds(condition: Condition | None, item: Mapping[str, Any] | None) -> bool:
    """Whether a condition holds.

    Args:
        condition: the condition; None holds always.
        item: the item; None if there is none.
    """
    match condition:
        case None:
            return True
        case Absent():
            return item is None
        case Equals():
            return item is not None and item.get(condition.attribute) == condition.value
        case AllEqual():
            return item is not None and all(item.get(attribute) == value for attribute, value in condition.values)
        case AtLeast():
            return item is not None and condition.attribute in item and item[condition.attribute] >= condition.value
        case AllOf():
            return all(holds(each, item) for each in condition.conditions)
        case OneOf():
            return item is not None and item.get(condition.attribute) in condition.values
        case Contains():
            return item is not None and condition.text in item.get(condition.attribute, "")
