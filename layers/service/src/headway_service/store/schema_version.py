"""The shapes of stored items, by number, and how older ones are read. See `docs/how-to/migration.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway_service.errors import NewerSchema
from headway_service.ports.table import Item

SCHEMA = 1
"""The number of the shapes that this code writes. Every item carries it as ``schema``."""

Upgrade = Callable[[Item], Item]

UPGRADES: Mapping[int, Upgrade] = {}
"""By number: what makes an item of that shape one of the next. An upgrade looks at the keys to know what it has."""


def stamped(item: Item) -> dict[str, Any]:
    """An item as it is written."""
    return {**item, "schema": SCHEMA}


def upgraded(item: Item) -> Item:
    """An item in the shape of today. What was written before items carried a number has shape 1.

    Raises:
        NewerSchema: newer code has written it.
    """
    # Records of the stream have numbers as Decimal.
    number = int(item.get("schema", 1))
    if number > SCHEMA:
        raise NewerSchema(
            f"the item {item.get('pk')} {item.get('sk')} has schema {number} and this code knows {SCHEMA}: "
            "deploy the version that wrote it, or a later one"
        )
    for step in range(number, SCHEMA):
        item = UPGRADES[step](item)
    return item
