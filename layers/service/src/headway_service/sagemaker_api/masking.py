"""Takes out of a text what a request holds in confidence: AWS's sentences may quote it, and everybody reads those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASK = "***"

CONFIDENTIAL = ("HyperParameters", "Environment")
"""The members of a request whose values are told to nobody but who may see the request. Tags are no secrets: AWS shows
them to whoever may list."""

MIN_MASKED_CHARS = 5
"""A shorter value is no secret worth a sentence with holes, such as every ``1`` in it."""


def masked(text: str, request: Mapping[str, Any]) -> str:
    """A text without the confidential values of a request.

    Args:
        text: what AWS said.
        request: what it may quote: a CreateTrainingJob request, or a description of a training job.
    """
    held = [request.get(member) for member in CONFIDENTIAL]
    values = {value for each in held if isinstance(each, Mapping) for value in each.values() if isinstance(value, str)}
    # The longest first, for one may be part of another.
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= MIN_MASKED_CHARS:
            text = text.replace(value, MASK)
    return text
