"""The schema version of stored items, and how older ones are read. See `docs/how-to/migration.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway_service.errors import NewerSchema, OlderSchema, UnreadableRecord
from headway_service.ports.table import Item

SCHEMA = 1
"""The schema version that this code writes. Every item carries it as ``schemaVersion``."""

Upgrade = Callable[[Item], Item]

UPGRADES: Mapping[int, Upgrade] = {}
"""By schema version: converts an item of that version to the next. It recognizes the kind of item by its keys."""


def stamp(item: Item) -> dict[str, Any]:
    """An item with the current schema version, ready to be written."""
    return {**item, "schemaVersion": SCHEMA}


def upgrade(item: Item) -> Item:
    """An item of the current schema version.

    Raises:
        NewerSchema: newer code has written the item.
        OlderSchema: no upgrade leads from the item's version to the current one.
        UnreadableRecord: its version is none.
    """
    try:
        # Stream records hold numbers as Decimal. Before the first release items had no attribute "schemaVersion".
        number = int(item.get("schemaVersion", 0))
    except (TypeError, ValueError, OverflowError) as error:
        raise UnreadableRecord(f"{name_of(item)} is damaged: schemaVersion") from error
    if number > SCHEMA:
        raise NewerSchema(
            f"{name_of(item)} has schema version {number} and this code reads up to schema version {SCHEMA}: "
            "deploy the version that wrote it, or a later one"
        )
    for step in range(number, SCHEMA):
        if step not in UPGRADES:
            raise OlderSchema(
                f"{name_of(item)} has schema version {number}, which this code does not read: deploy with another "
                "TableName for an empty queue, or deploy a version in between first, which upgrades the table"
            )
        item = UPGRADES[step](item)
    return item


def name_of(item: Item) -> str:
    """An item in a message, by its keys."""
    return f"the item {item.get('pk')} {item.get('sk')}"
