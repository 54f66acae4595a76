"""A job's launches in a row that got no instances, as they are kept."""

from __future__ import annotations

from dataclasses import asdict

from headway.refusals import Cause, FailedLaunches
from headway_service.store.records.base import Record


class FailedLaunchesRecord(Record):
    """:class:`headway.refusals.FailedLaunches`, with its members."""

    count: int
    unprovided: int = 0
    since_ms: int
    last_ms: int
    idled_ms: int = 0
    idled_before_ms: int = 0
    cause: Cause
    code: str = ""
    text: str = ""
    by_request_since_ms: int | None = None
    pools_size: int = 0

    @classmethod
    def of(cls, failed: FailedLaunches | None) -> FailedLaunchesRecord | None:
        """The record of these launches; None for none."""
        return None if failed is None else cls(**asdict(failed))

    def value(self) -> FailedLaunches:
        """The launches as decisions have them."""
        return FailedLaunches(**self.model_dump())
