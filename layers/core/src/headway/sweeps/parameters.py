"""The names and the values of hyperparameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from headway.sweeps.limits import MAX_NAME_CHARACTERS, MAX_PARAMETERS, MAX_VALUE_CHARACTERS
from headway.sweeps.problems import Problem

Value = str | int | float | bool

# Python refuses to write whole numbers with more digits than 4,300 (sys.set_int_max_str_digits), so they are compared.
_TOO_LONG = 10**MAX_VALUE_CHARACTERS

_BEYOND_FLOATS = 10**308


def text_of(value: Value) -> str:
    """A value as SageMaker takes it: text as it is, numbers and booleans as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value)


def checked_value(value: object, path: str, problems: list[Problem]) -> Value | None:
    """Return a value that can be one of a hyperparameter; None if it cannot.

    Args:
        value: what the document has.
        path: where it is.
        problems: gets what is wrong with it.
    """
    wrong = _wrong_value(value)
    if wrong is not None:
        problems.append(Problem(path, wrong))
        return None
    assert isinstance(value, Value)  # noqa: S101 - for mypy: nothing is wrong with others only
    return value


def checked_names(named: object, path: str, problems: list[Problem]) -> dict[str, object]:
    """Return the hyperparameters that an object has, by their names; without those whose names are wrong.

    Args:
        named: what the document has.
        path: where it is.
        problems: gets what is wrong with it.
    """
    if not isinstance(named, Mapping):
        problems.append(Problem(path, f"is {kind_of(named)}; write an object with a member for each hyperparameter"))
        return {}
    if not named:
        problems.append(Problem(path, "is empty; add a hyperparameter"))
    if len(named) > MAX_PARAMETERS:
        message = f"has {len(named):,} hyperparameters; a training job has up to {MAX_PARAMETERS}"
        problems.append(Problem(path, message))
    found: dict[str, object] = {}
    for name, value in named.items():
        wrong = _wrong_name(name)
        if wrong is None:
            found[name] = value
        else:
            problems.append(Problem(path, wrong))
    return found


def is_number(value: object) -> bool:
    """Whether a value is a finite number, and no boolean."""
    # isfinite cannot be asked about whole numbers that no float can have.
    return (type(value) is int and abs(value) < _BEYOND_FLOATS) or (isinstance(value, float) and isfinite(value))


def shown(value: object) -> str:
    """A value in a message: a number, the beginning of a text, or else what it is."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        # Python writes no whole number of thousands of digits.
        huge = isinstance(value, int) and abs(value) >= _BEYOND_FLOATS
        return "a number of over 300 digits" if huge else f"{value!r:.40}"
    return kind_of(value)


def kind_of(value: object) -> str:
    """What a value of a JSON document is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _wrong_name(name: object) -> str | None:
    if not isinstance(name, str):
        return f"has {shown(name)} as a name; write names of hyperparameters in quotes"
    if not name:
        return "has a hyperparameter without a name; give it one"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"has a name of {len(name):,} characters, {name!r:.40}; a name has up to {MAX_NAME_CHARACTERS}"
    unfit = _unfit_text(name)
    return f"has the name {name!r:.80}, which {unfit}" if unfit else None


def _wrong_value(value: object) -> str | None:
    if isinstance(value, str):
        if len(value) > MAX_VALUE_CHARACTERS:
            return f"has {len(value):,} characters; SageMaker takes up to {MAX_VALUE_CHARACTERS:,}"
        return _unfit_text(value)
    if isinstance(value, bool):
        return None
    if type(value) is int:
        too_long = abs(value) >= _TOO_LONG
        return f"is a number of more than {MAX_VALUE_CHARACTERS:,} digits; use a smaller one" if too_long else None
    if isinstance(value, float):
        return None if isfinite(value) else f"is {value}; use a finite number"
    return f"is {kind_of(value)}; use text, a number or a boolean"


def _unfit_text(text: str) -> str | None:
    # "Pattern: .*" (API reference, CreateTrainingJob: HyperParameters).
    if len(text.splitlines()) > 1 or text.endswith(("\n", "\r")):
        return "has a line break; SageMaker takes one line"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "has half of a surrogate pair; write the character itself"
    return None
