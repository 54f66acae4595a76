"""Types of members that several documents have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from headway.api_documents.codec import Member

Time = Annotated[str, Member(format="date-time")]
"""ISO 8601, UTC, with milliseconds and Z."""

Instances = Annotated[Mapping[str, int], Member("Instances per pool.")]
