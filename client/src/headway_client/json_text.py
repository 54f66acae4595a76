"""Decode JSON that others wrote: what is nested so deeply that it would exhaust the stack is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 64
"""Objects and lists inside each other. The queue accepts 32, and none of its documents has more."""


class NotJson(ValueError):
    """A text is no JSON, or is nested too deeply; the message goes on after the name of the text."""


def decode(text: str | bytes) -> Any:
    """Return the value of a JSON text. Whoever reads the text bounds its size.

    Args:
        text: the text; bytes are UTF-8, UTF-16 or UTF-32.

    Raises:
        NotJson: it is no JSON, or is nested more than 64 deep.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise NotJson(f"is no JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        raise NotJson(f"is no JSON: {error}") from None
    require_depth(value)
    return value


def require_depth(value: Any) -> None:
    """Return if a decoded value is not nested too deeply.

    Raises:
        NotJson: it is nested more than 64 deep.
    """
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [inner for each in level for inner in _values(each) if isinstance(inner, dict | list)]


def _values(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _too_deep() -> NotJson:
    return NotJson(f"is nested more than {MAX_DEPTH} deep")
