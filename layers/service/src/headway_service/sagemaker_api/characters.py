"""Finds text that UTF-8 cannot encode, as halves of surrogate pairs, which JSON's escapes may stand for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway_service.errors import FieldError

PROBLEM = "holds half a surrogate pair, which is no character: write the character itself, or remove it"


def errors(document: Any, field: str = "") -> Iterator[FieldError]:
    """The members of a document whose names or texts cannot be encoded.

    Args:
        document: as decoded from JSON.
        field: its own place in what the caller has sent; empty for all of it.
    """
    if isinstance(document, str):
        if not _has_encoding(document):
            yield FieldError(field=field, message=PROBLEM)
    elif isinstance(document, Mapping):
        for name, value in document.items():
            shown = str(name).encode(errors="backslashreplace").decode()
            member = f"{field}.{shown}" if field else shown
            if not _has_encoding(str(name)):
                yield FieldError(field=member, message=PROBLEM)
            yield from errors(value, member)
    elif isinstance(document, list | tuple):
        for i, value in enumerate(document):
            yield from errors(value, f"{field}[{i}]")


def _has_encoding(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
