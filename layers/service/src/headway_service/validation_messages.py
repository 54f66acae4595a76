"""What to change in a document that pydantic refuses, in place of pydantic's own messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

PATTERNS: dict[str, str] = {}
"""For each pattern of the service's models, what it asks for; filled by :func:`explained`."""


def explained(pattern: str, wanted: str) -> str:
    """Register what a pattern asks for.

    Args:
        wanted: the rest of the sentence "must be ...".

    Returns:
        The pattern.
    """
    PATTERNS[pattern] = wanted
    return pattern


def message_of(problem: Mapping[str, Any]) -> str:
    """Return what to change, as the rest of a sentence that begins with the name of the field.

    Args:
        problem: one of the errors of ``pydantic.ValidationError.errors()``.
    """
    kind, context = str(problem["type"]), problem.get("ctx", {})
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}"
    make = _MESSAGES.get(kind)
    return make(context) if make else str(problem["msg"]).removeprefix("Value error, ")


_WANTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_type": "text",
    "tuple_type": "a list",
}
_MESSAGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "enum": lambda found: f"must be {found['expected']}",
    "extra_forbidden": lambda _: "is not known here: remove it, or check its spelling",
    "greater_than": lambda found: f"must be more than {_number(found['gt'])}",
    "greater_than_equal": lambda found: f"must be at least {_number(found['ge'])}",
    "less_than": lambda found: f"must be less than {_number(found['lt'])}",
    "less_than_equal": lambda found: f"must be at most {_number(found['le'])}",
    "literal_error": lambda found: f"must be {found['expected'].replace('True', 'true').replace('False', 'false')}",
    "missing": lambda _: "is required: add it",
    "string_pattern_mismatch": lambda found: f"must be {PATTERNS.get(found['pattern'], 'written in another form')}",
    "string_too_long": lambda found: f"must have at most {found['max_length']} characters",
    "string_too_short": lambda found: f"must have at least {_counted(found['min_length'], 'character')}",
    "too_long": lambda found: f"must have at most {_counted(found['max_length'], 'entry', 'entries')}",
    "too_short": lambda found: f"must have at least {_counted(found['min_length'], 'entry', 'entries')}",
}


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _number(limit: float) -> str:
    # pydantic gives the limits of a float as floats: 0.0.
    return str(int(limit) if limit == int(limit) else limit)
