"""Jobs that SageMaker does not launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headway.model import WaitingJob
from headway.refusals import Cause, FailedLaunches
from headway.refusals.probing import MAX_RETRY_MS
from tests.core.builders import NOW_MS, job

HOUR_MS = 3_600_000


def refused(
    name: str,
    priority: int = 5,
    *,
    ago_ms: int = MAX_RETRY_MS,
    tries: int = 3,
    cause: Cause = Cause.DENIED,
    idled_ms: int = 0,
    **more: Any,
) -> WaitingJob:
    """A job whose last launches in a row got no instances, the last one so long ago."""
    last_ms = NOW_MS - ago_ms
    failed = FailedLaunches(
        count=tries,
        since_ms=last_ms - HOUR_MS,
        last_ms=last_ms,
        idled_ms=idled_ms,
        cause=cause,
        code="AccessDenied",
        text="no",
        by_request_since_ms=last_ms - HOUR_MS,
    )
    return replace(job(name, priority, **more), failed=failed)
