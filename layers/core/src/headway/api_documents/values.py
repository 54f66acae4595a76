"""Members that several documents have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member

Time = Annotated[str, Member(format="date-time")]
"""ISO 8601, UTC, with milliseconds and Z."""

Instances = Annotated[Mapping[str, int], Member("Instances per pool.")]

Seconds = Annotated[Mapping[str, int], Member("Instances times seconds, by pool.")]
"""Seconds of instances per pool."""


@dataclass(frozen=True, kw_only=True)
class Price(ApiDocument):
    """A price that costs were computed with."""

    pool: str
    first: Annotated[str, Member("The first day of the price.", name="from")]
    per_hour: float
