"""What a decision has to know of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a job is compared by with its equals. Its members are those of :class:`headway.model.WaitingJob`."""

    handicap_ms: int
    left_ms: int | None = None
    expected_ms: int | None = None
    extension_ms: int = 0
    attained_ms: int | None = None
    max_handicap_ms: int = 0
