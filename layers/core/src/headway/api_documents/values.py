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

Cost = Annotated[float | None, Member("Of the billed time, at the prices of the day of its end; null without.")]

UnpricedSeconds = Annotated[Mapping[str, int], Member("Instances times seconds that `cost` does not have.")]

LostCost = Annotated[float | None, Member("The part of `cost` for what was lost; null if it is not known.")]

LostUnpricedSeconds = Annotated[
    Mapping[str, int], Member("Lost instances times seconds that `lostCost` does not have.")
]

SavedSeconds = Annotated[
    Mapping[str, int],
    Member("Instances times seconds for which spot instances trained without being billed, per pool."),
]

SavedCost = Annotated[
    float | None, Member("What these would cost on demand, which is what spot saved; null if it is not known.")
]

EstimatedCost = Annotated[
    float | None,
    Member(
        "An estimate, by `spotPerHour`, of spot instances that no other cost has: SageMaker has not reported their "
        "billable time, or they run. Null without."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Price(ApiDocument):
    """A price that costs were computed with."""

    pool: str
    first: Annotated[str, Member("The first day of the price.", name="from")]
    per_hour: float
