"""How values are read out of a JSON document: whatever is not as it has to be raises `ServerFaultError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.errors import ServerFaultError


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object as it is."""
    if not isinstance(value, dict):
        raise ServerFaultError(_foreign(f"an object was expected, not {type(value).__name__}"))
    return value


def list_of(document: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under a key."""
    value = document.get(key)
    if not isinstance(value, list):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no list"))
    return value


def texts(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the list of texts under a key."""
    values = list_of(document, key)
    if not all(isinstance(value, str) for value in values):
        raise ServerFaultError(_foreign(f"`{key}` holds something other than texts"))
    return tuple(values)


def text(document: Mapping[str, Any], key: str) -> str:
    """Return the text under a key."""
    value = document.get(key)
    if not isinstance(value, str):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no text"))
    return value


def optional_text(document: Mapping[str, Any], key: str) -> str | None:
    """Return the text under a key; None for null, and where an older server does not send the key."""
    return None if document.get(key) is None else text(document, key)


def whole(document: Mapping[str, Any], key: str) -> int:
    """Return the whole number under a key."""
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ServerFaultError(_foreign(f"`{key}` is missing or no whole number"))
    return value


def optional_whole(document: Mapping[str, Any], key: str) -> int | None:
    """Return the whole number under a key; None for null, and where an older server does not send the key."""
    return None if document.get(key) is None else whole(document, key)


def wholes(document: Mapping[str, Any], key: str) -> dict[str, int]:
    """Return the object under a key, of which every value is a whole number."""
    numbers = mapping(document.get(key))
    return {name: whole(numbers, name) for name in numbers}


def _foreign(detail: str) -> str:
    return (
        f"The endpoint's answer is not one of Headway's API ({detail}). Check that the endpoint is Headway's "
        "and that client and server are of the same version."
    )
