"""What differs between two configuration documents, path by path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headway_service.config import document as configuration
from headway_service.errors import FieldError, InvalidConfiguration

MAX_VALUE_CHARS = 100
"""Length of a value in the description of a difference."""

_NOT_SET = "not set"


def differences(before: str, after: str) -> list[FieldError]:
    """Each path at which the second document differs from the first, e.g. ``size: 2 → 3``.

    A missing member equals its default. A document that is not valid is compared
    as it is.

    Args:
        before: the first document.
        after: the second document.
    """
    return list(_compare("", _document(before), _document(after)))


def _document(text: str) -> Any:
    try:
        return configuration.parse(text).model_dump(mode="json", exclude_defaults=True, exclude={"version"})
    except InvalidConfiguration:
        try:
            return json.loads(text)
        except ValueError:
            return text


def _compare(path: str, before: Any, after: Any) -> Iterator[FieldError]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            inner = f"{path}.{name}" if path else name
            # None is a separate value: it switches a watch off.
            if (name in before, before.get(name)) != (name in after, after.get(name)):
                if name in before and name in after:
                    yield from _compare(inner, before[name], after[name])
                else:
                    yield FieldError(field=inner, message=f"{_told(before, name)} → {_told(after, name)}")
    elif before != after:
        yield FieldError(field=path or "(the document)", message=f"{_shown(before)} → {_shown(after)}")


def _told(document: dict[str, Any], name: str) -> str:
    return _shown(document[name]) if name in document else _NOT_SET


def _shown(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"
