"""The shapes of stored items, by number, and how older ones are read. See `docs/how-to/migration.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway_service.errors import NewerSchema, OlderSchema
from headway_service.ports.table import Item

SCHEMA = 1
"""The number of the shapes that this code writes. Every item carries it as ``shape``."""

Upgrade = Callable[[Item], Item]

UPGRADES: Mapping[int, Upgrade] = {}
"""By number: converts an item of that shape to the next. An upgrade recognizes the kind of item by its keys."""


def stamp(item: Item) -> dict[str, Any]:
    """An item with the number of the current shape, ready to be written."""
    return {**item, "shape": SCHEMA}


def upgrade(item: Item) -> Item:
    """An item in the current shape.

    Raises:
        NewerSchema: newer code has written the item.
        OlderSchema: no upgrade leads from the item's shape to the current one.
    """
    # Stream records hold numbers as Decimal. Before the first release items had no attribute "shape".
    number = int(item.get("shape", 0))
    name = f"the item {item.get('pk')} {item.get('sk')}"
    if number > SCHEMA:
        raise NewerSchema(
            f"{name} has shape {number} and this code reads up to shape {SCHEMA}: "
            "deploy the version that wrote it, or a later one"
        )
    for step in range(number, SCHEMA):
        if step not in UPGRADES:
            raise OlderSchema(
                f"{name} has shape {number}, which this version does not read: deploy with another TableName for an "
                "empty queue, or deploy a version in between first, which upgrades the table"
            )
        item = UPGRADES[step](item)
    return item
