"""Items as DynamoDB takes them.

boto3's serializer does the same for more types, in several times the time, and its import loads s3transfer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_service.ports.table import Item


def encode_item(item: Item) -> dict[str, Any]:
    """The attributes of an item in DynamoDB's notation (API reference, AttributeValue).

    Raises:
        TypeError: a value has a type that is not in :data:`headway_service.ports.table.Item`.
    """
    return {attribute: encode_value(value) for attribute, value in item.items()}


def encode_value(value: Any) -> dict[str, Any]:
    """A value in DynamoDB's notation.

    Raises:
        TypeError: it has a type that is not in :data:`headway_service.ports.table.Item`.
    """
    if isinstance(value, str):
        return {"S": value}
    # Before numbers: Python's booleans are some.
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, dict | Mapping):
        return {"M": encode_item(value)}
    if isinstance(value, list | tuple):
        return {"L": [encode_value(each) for each in value]}
    raise TypeError(f"an item cannot have a value of the type {type(value).__name__}")
