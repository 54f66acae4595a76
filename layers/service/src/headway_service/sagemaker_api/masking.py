"""Masks confidential values of a request in a text: AWS's messages may quote them, and all callers read those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASK = "***"

CONFIDENTIAL = ("HyperParameters", "Environment")
"""The members of a request whose values only callers with access to the request see. Tags are no secrets: AWS shows
them to all who may list training jobs."""

MIN_MASKED_CHARS = 5
"""Shorter values are not masked: masking every ``1`` would make messages unreadable."""


def masked(text: str, request: Mapping[str, Any]) -> str:
    """A text without the confidential values of a request.

    Args:
        text: AWS's message.
        request: the CreateTrainingJob request, or description of a training job, that it may quote.
    """
    held = [request.get(member) for member in CONFIDENTIAL]
    values = {value for each in held if isinstance(each, Mapping) for value in each.values() if isinstance(value, str)}
    # The longest first, as one value may be part of another.
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= MIN_MASKED_CHARS:
            text = text.replace(value, MASK)
    return text
