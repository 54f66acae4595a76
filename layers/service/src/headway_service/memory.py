"""The table in memory: for tests and the simulator, held to the same contract suite as DynamoDB."""

from __future__ import annotations

import copy
import json
import threading
from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headway_service.errors import Conflict
from headway_service.ports import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_WRITES,
    Absent,
    AtLeast,
    Change,
    Check,
    Condition,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    OneOf,
    Put,
    Write,
)


class MemoryTable:
    """A table in memory. Safe for use by several threads; a write is atomic."""

    def __init__(self) -> None:
        self._items: dict[Key, dict[str, Any]] = {}
        self._sort_keys: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.Table`."""
        with self._lock:
            return copy.deepcopy(self._items.get(key))

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.Table`."""
        with self._lock:
            keys = [sk for sk in self._sort_keys.get(pk, []) if sk.startswith(prefix) and sk > after]
            return tuple(copy.deepcopy(self._items[Key(pk, sk)]) for sk in keys[:limit])

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.Table`."""
        with self._lock:
            return min(limit, bisect_left(self._sort_keys.get(pk, []), sk))

    def listing(
        self,
        name: str,
        *,
        states: Collection[str],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.Table`."""
        with self._lock:
            found = sorted(
                (item for item in self._items.values() if item.get("listing") == name),
                key=lambda item: (item["listingKey"], item["pk"]),
                reverse=descending,
            )
            if after is not None:
                last = (after["listingKey"], after["pk"])
                found = [
                    item
                    for item in found
                    if (
                        (item["listingKey"], item["pk"]) < last
                        if descending
                        else (item["listingKey"], item["pk"]) > last
                    )
                ]
            # Like DynamoDB: the limit counts what is read, the filter works on that.
            read = found[:limit]
            more = len(found) > limit
            kept = tuple(copy.deepcopy(item) for item in read if item["jobState"] in states)
            tail = {"listingKey": read[-1]["listingKey"], "pk": read[-1]["pk"]} if more else None
            return ListingPage(items=kept, after=tail)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.Table`."""
        keys = [write.key for write in writes]
        if len(writes) > MAX_TRANSACTION_WRITES:
            raise ValueError(f"a transaction holds at most {MAX_TRANSACTION_WRITES} writes, not {len(writes)}")
        if len(set(keys)) != len(keys):
            raise ValueError("a transaction holds at most one write for an item")
        with self._lock:
            failed = [i for i, write in enumerate(writes) if not _holds(write.requires, self._items.get(write.key))]
            if failed:
                raise Conflict(failed)
            for write in writes:
                self._apply(write)

    def _apply(self, write: Write) -> None:
        match write:
            case Put():
                self._store(write.key, copy.deepcopy(dict(write.item)))
            case Change():
                item = copy.deepcopy(self._items.get(write.key, {"pk": write.key.pk, "sk": write.key.sk}))
                item.update(copy.deepcopy(dict(write.sets)))
                for attribute, number in write.adds.items():
                    item[attribute] = item.get(attribute, 0) + number
                self._store(write.key, item)
            case Delete():
                if self._items.pop(write.key, None) is not None:
                    self._sort_keys[write.key.pk].remove(write.key.sk)
            case Check():
                pass

    def _store(self, key: Key, item: dict[str, Any]) -> None:
        if len(json.dumps(item, ensure_ascii=False).encode()) > MAX_ITEM_BYTES:
            raise ValueError(f"an item holds at most {MAX_ITEM_BYTES} bytes")
        if key not in self._items:
            insort(self._sort_keys.setdefault(key.pk, []), key.sk)
        self._items[key] = item


def _holds(condition: Condition | None, item: Mapping[str, Any] | None) -> bool:
    match condition:
        case None:
            return True
        case Absent():
            return item is None
        case Equals():
            return item is not None and item.get(condition.attribute) == condition.value
        case AtLeast():
            return item is not None and condition.attribute in item and item[condition.attribute] >= condition.value
        case OneOf():
            return item is not None and item.get(condition.attribute) in condition.values
