"""When a job whose launches got no instances is tried again, and what others do meanwhile."""

from __future__ import annotations

from headway.refusals.failed_launches import Cause, FailedLaunches

UNLAUNCHABLE_AFTER = 2
"""From so many launches in a row on, a job is unlaunchable that only its own request keeps from starting."""

UNLAUNCHABLE_AFTER_MS = 300_000
"""So long after the first launch without instances was begun, any job is. Until then a quota may only lag: SageMaker
counts the instances of a training job for minutes after its end, such as those of a victim."""

FIRST_RETRY_MS = 10_000
"""After the first of them a job is tried again so much later. Each further time it is twice as long ..."""

MAX_SOON_MS = 60_000
"""... and at most this, as long as it is not unlaunchable, ..."""

MAX_RETRY_MS = 600_000
"""... or this."""

PROBES_APART_MS = 10_000
"""In one pool, so long after a launch of an unlaunchable job failed none is tried."""

_AT_ONCE = frozenset({Cause.CAPACITY, Cause.UNANSWERED, Cause.UNREADABLE})

FIRST_GRACE_MS = 420_000
"""An attempt may hold instances for so long before SageMaker provides them; then it gives way to others that can use
them. Preparing instances takes minutes, and shows the same status as having none. After each launch without instances
it is twice as long ..."""

MAX_GRACE_MS = 3_600_000
"""... and at most this, so that a job whose instances take long to prepare gets them at last."""


def is_unlaunchable(failed: FailedLaunches | None, now_ms: int) -> bool:
    """Whether a job is unlaunchable on the alternative that these launches were on.

    One launch suffices that SageMaker had no instances for, or about which it gave no clear answers, as that has taken
    minutes; and one whose request cannot be read.

    Args:
        failed: the launches without instances in a row; None for none.
    """
    if failed is None:
        return False
    return _is_lasting(failed) or now_ms - failed.since_ms >= UNLAUNCHABLE_AFTER_MS


def unlaunchable_from_ms(failed: FailedLaunches) -> int:
    """From when on a job is unlaunchable on the alternative that these launches were on, ms; it may be in the future.

    As only the first and the last of them are kept, it may have been so for up to :data:`UNLAUNCHABLE_AFTER_MS` before.
    """
    after_ms = failed.since_ms + UNLAUNCHABLE_AFTER_MS
    if not _is_lasting(failed):
        return after_ms
    return failed.last_ms if failed.count == 1 else min(failed.last_ms, after_ms)


def _is_lasting(failed: FailedLaunches) -> bool:
    """Whether no time has to pass before a job is unlaunchable."""
    return failed.cause in _AT_ONCE or (failed.by_request_since_ms is not None and failed.count >= UNLAUNCHABLE_AFTER)


def retry_ms(failed: FailedLaunches) -> int:
    """When a further launch may be tried at the earliest, ms."""
    most_ms = MAX_RETRY_MS if is_unlaunchable(failed, failed.last_ms) else MAX_SOON_MS
    return failed.last_ms + min(most_ms, FIRST_RETRY_MS << min(failed.count - 1, 16))


def grace_ms(unprovided: int) -> int:
    """For how long an attempt may hold instances that SageMaker has not provided before it gives way to others, ms.

    Args:
        unprovided: for how many launches of its job in a row before it SageMaker provided none. Those that it refused
            do not count: they kept nothing from others.
    """
    return min(MAX_GRACE_MS, FIRST_GRACE_MS << min(unprovided, 8))
