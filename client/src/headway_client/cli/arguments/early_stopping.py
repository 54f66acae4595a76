"""When members of an array are stopped early, as an argument: ``metric=loss,goal=minimize,stepMetric=epoch``."""

from __future__ import annotations

from typing import Any

from headway_client.errors import UsageError
from headway_client.text import from_json

_MAX_DIGITS = 18
"""Longer numbers are refused as what they are; Python reads none of more than 4,300 digits."""

_NUMBERS = ("minMembers", "minSteps", "minTrainingSeconds")


def parse(text: str) -> dict[str, Any]:
    """Return the document that an argument stands for, unchecked.

    Args:
        text: pairs of a member and its value, separated by commas; or the document itself as JSON.

    Raises:
        UsageError: it is neither.
    """
    if text.lstrip().startswith("{"):
        try:
            document: dict[str, Any] = from_json(text)
        except ValueError as error:
            raise UsageError(f"--early-stopping is no valid JSON: {error}") from error
        return document
    found: dict[str, Any] = {}
    for pair in text.split(","):
        member, is_pair, value = pair.partition("=")
        if not is_pair:
            raise UsageError(f"--early-stopping has {pair!r:.40}; write MEMBER=VALUE, such as metric=loss.")
        if member in found:
            raise UsageError(f"--early-stopping has {member} twice; remove one.")
        found[member] = _number(value) if member in _NUMBERS else value
    return found


def _number(text: str) -> int | str:
    """The number in a text; the text itself if it has none, which is refused as what it is."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else text
