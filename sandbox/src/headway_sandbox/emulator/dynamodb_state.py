"""Patches of ministack's DynamoDB: what is left after a stop or a kill.

ministack saves all tables when it stops, so a kill would lose each item since its start. Here each changed item goes to
the journal, which is committed before the response (`headway_sandbox.server.http_proxy`), and ministack's own state has
the tables without their items.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from headway_sandbox.emulator.patches import module
from headway_sandbox.journal.journal import Journal

ITEMS_OF = "items of "
"""How the names of collections with items begin."""


def prepare(journal: Journal) -> None:
    """Apply the patches. Called once, after `patches.prepare`.

    Args:
        journal: the journal of the state directory.
    """
    _save_items(journal)
    _save_stream_records()


def _save_items(journal: Journal) -> None:
    dynamodb = module("services.dynamodb")
    put, remove, swapped = dynamodb._set_item, dynamodb._remove_item, dynamodb._items_replaced
    load, save = dynamodb.load_persisted_state, dynamodb.get_state

    def put_saved(table: Any, pk: Any, sk: Any, item: Any) -> Any:
        journal.put(_collection(table), _name(pk, sk), item)
        return put(table, pk, sk, item)

    def remove_saved(table: Any, pk: Any, sk: Any) -> Any:
        journal.remove(_collection(table), _name(pk, sk))
        return remove(table, pk, sk)

    def swapped_saved(table: Any) -> None:
        """Save all items of a table that did not come one by one: a restored or imported one."""
        swapped(table)
        journal.replace(_collection(table), lambda: _by_name(table["items"]))

    def load_saved(data: Mapping[str, Any] | None) -> None:
        load(data)
        tables = {_collection(table): table for table in dynamodb._tables.all_values()}
        for collection, table in tables.items():
            table["items"] = _by_key(journal.read(collection))
            swapped(table)
        for collection in journal.counts():
            # Of a table that was deleted, or created after ministack's state was last saved.
            if collection.startswith(ITEMS_OF) and collection not in tables:
                journal.replace(collection, dict)

    dynamodb._set_item, dynamodb._remove_item, dynamodb._items_replaced = put_saved, remove_saved, swapped_saved
    dynamodb.load_persisted_state, dynamodb.get_state = load_saved, _without_items(save)


def _collection(table: Any) -> str:
    # By ID, as a deleted table's name can be used again.
    return ITEMS_OF + str(table["TableId"])


def _name(pk: Any, sk: Any) -> str:
    return json.dumps([pk, sk])


def _by_name(items: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    return {_name(pk, sk): item for pk, bucket in items.items() for sk, item in bucket.items()}


def _by_key(documents: Mapping[str, Any]) -> defaultdict[Any, dict[Any, Any]]:
    items: defaultdict[Any, dict[Any, Any]] = defaultdict(dict)
    for name, item in documents.items():
        pk, sk = json.loads(name)
        items[pk][sk] = item
    return items


def _without_items(save: FunctionType) -> FunctionType:
    """Return ministack's function with a view of the tables that have no items, so that it does not copy them."""
    return FunctionType(save.__code__, {**save.__globals__, "_tables": _TablesWithoutItems()}, save.__name__)


class _TablesWithoutItems:
    def all_items(self) -> Iterable[tuple[Any, Any]]:
        """Return the tables by key, like `_tables.all_items`."""
        for key, table in module("services.dynamodb")._tables.all_items():
            yield key, {**table, "items": {}}


def _save_stream_records() -> None:
    """Save the stream records that functions have not yet read when the sandbox stops.

    ministack saves the read positions, but not the records: after a start it would skip as many new ones.
    """
    dynamodb, functions = module("services.dynamodb"), module("services.lambda_svc")
    save, load = dynamodb.get_state, dynamodb.load_persisted_state

    def unread(account: str, region: str, table: str, end: int) -> int:
        """Return the first position that not all functions have read."""
        positions = functions._dynamodb_stream_positions
        mappings = [
            (scope, mapping["UUID"])
            for scope, mapping in list(functions._esms._data.items())
            if f":table/{table}/stream/" in mapping.get("EventSourceArn", "") and scope[:2] == (account, region)
        ]
        return min((positions.get_scoped(*scope[:2], name, end) for scope, name in mappings), default=end)

    def get_state() -> dict[str, Any]:
        state = save()
        kept, trimmed = type(dynamodb._stream_records)(), type(dynamodb._stream_trimmed)()
        for (account, region, table), records in list(dynamodb._stream_records.all_items()):
            first = dynamodb._stream_trimmed.get_scoped(account, region, table, 0)
            position = max(first, unread(account, region, table, first + len(records)))
            kept.set_scoped(account, region, table, copy.deepcopy(records[position - first :]))
            trimmed.set_scoped(account, region, table, position)
        return {**state, "stream_records": kept, "stream_trimmed": trimmed}

    def load_persisted_state(data: Mapping[str, Any] | None) -> None:
        load(data)
        if data:
            dynamodb._stream_records.update(data.get("stream_records", {}))
            dynamodb._stream_trimmed.update(data.get("stream_trimmed", {}))

    dynamodb.get_state, dynamodb.load_persisted_state = get_state, load_persisted_state
