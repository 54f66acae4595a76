"""When a job that only its own request keeps from starting ends as failed."""

from __future__ import annotations

from headway.refusals.failed_launches import FailedLaunches


def gives_up(failed: FailedLaunches | None, after_ms: int, now_ms: int) -> bool:
    """Whether a job ends, as only its own request has kept it from starting for too long.

    A job that waits for capacity, or for instances that others use, never does.

    Args:
        failed: its launches without instances in a row; None for none.
        after_ms: for how long it is tried, ms.
    """
    since_ms = failed.by_request_since_ms if failed is not None else None
    return since_ms is not None and now_ms - since_ms >= after_ms
