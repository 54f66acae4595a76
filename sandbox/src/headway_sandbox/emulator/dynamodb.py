"""Patches of ministack's DynamoDB: how a Query finds its items.

ministack sorts the whole partition for each Query and parses the conditions again for each item. The result is right,
but takes seconds with a hundred thousand jobs, where DynamoDB continues at a key. So this module keeps the sort order
of each queried partition, and passes only the items of the requested page to ministack, which does all checks and
builds the response.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from types import FunctionType
from typing import Any, NamedTuple

from headway_sandbox.emulator.patches import module

# Key of the sort orders in ministack's cache of a table's index members, which is dropped when it becomes invalid. No
# index can have this name.
_ORDERS = "in order"


class _Address(NamedTuple):
    """An item's keys in its table."""

    pk: Any
    sk: Any


class _Entry(NamedTuple):
    """An item's position in a partition: its sort key, and its keys in the table."""

    order: tuple[Any, ...]
    address: _Address


class _Keys(NamedTuple):
    """The key schema of a table or of an index."""

    name: str | None
    hashes: Sequence[str]
    ranges: Sequence[str]


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    dynamodb = module("services.dynamodb")
    put, remove, query = dynamodb._set_item, dynamodb._remove_item, dynamodb._query
    # Items expire on another thread.
    lock = RLock()

    def put_in_order(table: Any, pk: Any, sk: Any, item: Any) -> Any:
        with lock:
            before = put(table, pk, sk, item)
            _move(table, _Address(pk, sk), before, item)
        return before

    def remove_in_order(table: Any, pk: Any, sk: Any) -> Any:
        with lock:
            before = remove(table, pk, sk)
            _move(table, _Address(pk, sk), before, None)
        return before

    def query_in_order(data: Any) -> Any:
        with lock:
            return _reading_only(query, _Page(data))(data)

    dynamodb._set_item, dynamodb._remove_item, dynamodb._query = put_in_order, remove_in_order, query_in_order


def _reading_only(query: FunctionType, page: _Page) -> FunctionType:
    """Return ministack's function with the tables replaced by the page's view of them."""
    replaced = {"_tables": page, "_index_members": page.index_members, "_evaluate_condition": page.holds}
    return FunctionType(query.__code__, {**query.__globals__, **replaced}, query.__name__, query.__defaults__)


class _Page:
    """View of the tables with only the items that one Query needs.

    ministack looks up the table, validates the request, and only then looks up the partition, so this class sees valid
    requests only.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._dynamodb = module("services.dynamodb")
        self._data = data
        self._parsed: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """Return a table, like `_tables.get`."""
        table = self._dynamodb._tables.get(name)
        if not table or self._data.get("IndexName"):
            return table
        return {**table, "items": _Partitions(lambda partition: self._items(table, partition))}

    def index_members(self, table: Any) -> Any:
        """Return the items of a table's indexes by partition, like `_index_members`."""
        members = self._dynamodb._index_members(table)
        name = self._data.get("IndexName")
        return {**members, name: _Partitions(lambda partition: self._addresses(table, partition))}

    def holds(self, expression: Any, item: Any, values: Any, names: Any, **slot: str) -> bool:
        """Evaluate a condition, like `_evaluate_condition`, but validate and parse it once per page."""
        tokens = self._parsed.get(expression)
        if tokens is None:
            held = self._dynamodb._evaluate_condition(expression, item, values, names, **slot)
            self._parsed[expression] = self._dynamodb._tokenize(expression)
            return bool(held)
        try:
            return bool(self._dynamodb._ExprEval(tokens, item, values, names).evaluate())
        except Exception:  # noqa: BLE001 - ministack's own function raises the right error for this item
            return bool(self._dynamodb._evaluate_condition(expression, item, values, names, **slot))

    def _items(self, table: Any, partition: Any) -> dict[Any, Any]:
        bucket = table["items"].get(partition, {})
        return {address.sk: bucket[address.sk] for address in self._addresses(table, partition)}

    def _addresses(self, table: Any, partition: Any) -> list[_Address]:
        keys = next(each for each in _keys(table) if each.name == self._data.get("IndexName"))
        entries = _in_order(table, keys, partition)
        first, end = self._between(table, keys, entries)
        limit = self._data.get("Limit")
        if limit is not None and self._data.get("ScanIndexForward", True):
            end = min(end, first + int(limit))
        elif limit is not None:
            first = max(first, end - int(limit))
        return [entry.address for entry in entries[first:end]]

    def _between(self, table: Any, keys: _Keys, entries: Sequence[_Entry]) -> tuple[int, int]:
        """Return the range of the entries that match the sort key condition and are after ExclusiveStartKey."""
        first, end = self._matching(table, keys, entries)
        start = self._data.get("ExclusiveStartKey")
        if start:
            order = _order(table, keys, start)
            if self._data.get("ScanIndexForward", True):
                first = max(first, bisect_right(entries, order, key=_order_of))
            else:
                end = min(end, bisect_left(entries, order, key=_order_of))
        return first, end

    def _matching(self, table: Any, keys: _Keys, entries: Sequence[_Entry]) -> tuple[int, int]:
        everything = 0, len(entries)
        # The sort key of an index may have several attributes.
        if len(keys.ranges) != 1:
            return everything
        match self._condition_on(keys.ranges[0]):
            case [("IDENT", function), _, ("VALUE_REF", prefix)] if function.lower() == "begins_with":
                begun = self._sort_value(table, keys, prefix)
                first = bisect_left(entries, begun, key=_sort_value_of)
                return first, bisect_right(entries, begun, lo=first, key=lambda entry: entry.order[0][: len(begun)])
            case [_, ("IDENT", _), ("VALUE_REF", low), _, ("VALUE_REF", high)]:
                return (
                    bisect_left(entries, self._sort_value(table, keys, low), key=_sort_value_of),
                    bisect_right(entries, self._sort_value(table, keys, high), key=_sort_value_of),
                )
            case [("IDENT" | "NAME_REF", _), (comparison, _), ("VALUE_REF", reference)]:
                value = self._sort_value(table, keys, reference)
                left = bisect_left(entries, value, key=_sort_value_of)
                right = bisect_right(entries, value, key=_sort_value_of)
                ranges = {"EQ": (left, right), "LT": (0, left), "LE": (0, right)}
                ranges |= {"GT": (right, len(entries)), "GE": (left, len(entries))}
                return ranges.get(comparison, everything)
            case _:
                return everything

    def _condition_on(self, attribute: str) -> Sequence[tuple[str, str]]:
        """Return the tokens of the condition on an attribute, without brackets and commas; none if there is none."""
        dynamodb, data = self._dynamodb, self._data
        names = data.get("ExpressionAttributeNames", {})
        for clause in dynamodb._key_condition_clauses(dynamodb._tokenize(data.get("KeyConditionExpression") or "")):
            tokens = [token for token in clause if token[0] not in {"LPAREN", "RPAREN", "COMMA"}]
            if any(names.get(text, text) == attribute for kind, text in tokens if kind in {"IDENT", "NAME_REF"}):
                return tokens
        return []

    def _sort_value(self, table: Any, keys: _Keys, reference: str) -> Any:
        (attribute,) = keys.ranges
        return _order(table, keys, {attribute: self._data["ExpressionAttributeValues"][reference]})[0]


class _Partitions:
    """Read-only mapping by partition, computed on access."""

    def __init__(self, find: Any) -> None:
        self._find = find

    def get(self, partition: Any, _otherwise: Any = None) -> Any:
        return self._find(partition)


def _in_order(table: Any, keys: _Keys, partition: Any) -> list[_Entry]:
    """Return the entries of a partition in order, and keep them in order from now on."""
    dynamodb = module("services.dynamodb")
    members = dynamodb._index_members(table)
    orders: dict[tuple[str | None, Any], list[_Entry]] = members.setdefault(_ORDERS, {})
    if (keys.name, partition) not in orders:
        addresses: Iterable[Any] = members[keys.name].get(partition, ()) if keys.name else ()
        if not keys.name:
            addresses = ((partition, sk) for sk in table["items"].get(partition, {}))
        found = (_entry(table, keys, _Address(*each), table["items"][each[0]][each[1]]) for each in addresses)
        orders[keys.name, partition] = sorted(found)
    return orders[keys.name, partition]


def _move(table: Any, address: _Address, before: Any, after: Any) -> None:
    """Update the kept orders after an item has changed."""
    dynamodb = module("services.dynamodb")
    orders = (table.get(dynamodb._INDEX_MEMBERS) or {}).get(_ORDERS)
    if not orders:
        return
    for keys in _keys(table):
        for item, there in ((before, False), (after, True)):
            entries = item and orders.get((keys.name, dynamodb._index_partition(item, keys.hashes, keys.ranges)))
            if entries is None or item is None:
                continue
            entry = _entry(table, keys, address, item)
            if there:
                insort(entries, entry)
            else:
                del entries[bisect_left(entries, entry)]


def _keys(table: Any) -> Iterable[_Keys]:
    """Return the key schemas of a table and of its indexes."""
    yield _Keys(None, [table["pk_name"]], [table["sk_name"]] if table.get("sk_name") else [])
    for name, hashes, ranges in module("services.dynamodb")._index_key_schemas(table):
        yield _Keys(name, hashes, ranges)


def _entry(table: Any, keys: _Keys, address: _Address, item: Mapping[str, Any]) -> _Entry:
    return _Entry(_order(table, keys, item), address)


def _order(table: Any, keys: _Keys, item: Mapping[str, Any]) -> tuple[Any, ...]:
    dynamodb = module("services.dynamodb")
    by = dynamodb._index_order_keys(table, keys.ranges)
    return tuple(dynamodb._index_order_value(item, name, kind) for name, kind in by)


def _order_of(entry: _Entry) -> tuple[Any, ...]:
    return entry.order


def _sort_value_of(entry: _Entry) -> Any:
    return entry.order[0]
