"""The tags that name times of a job: when it enters the queue, and by when it has to have started."""

from __future__ import annotations

from collections.abc import Iterator

from headway.days import DAY_MS, moment_ms
from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError, InvalidRequest
from headway_service.sagemaker_api.tags import NOT_BEFORE_TAG, START_BY_TAG

MAX_DAYS_AHEAD = 90
"""How far ahead the times of a job may be, days: so long may a record of it lie in the table before it is needed."""


def errors(draft: Draft) -> Iterator[FieldError]:
    """What is wrong with the tags, whenever the request comes."""
    for i, value in draft.request.tagged((NOT_BEFORE_TAG, START_BY_TAG)):
        if moment_ms(value) is None:
            message = f"is {value!r:.40}; it is a time with its zone such as 2026-12-01T08:00Z"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
    begin_ms, start_by_ms = draft.request.not_before_ms, draft.request.start_by_ms
    if begin_ms is not None and start_by_ms is not None and start_by_ms <= begin_ms:
        for i, value in draft.request.tagged((START_BY_TAG,)):
            message = f"is {value!r:.40}, when the job only enters the queue or before ({NOT_BEFORE_TAG})"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def require_ahead(not_before_ms: int | None, start_by_ms: int | None, now_ms: int) -> None:
    """Check the times of a job that is submitted now, ms; None for none.

    Args:
        now_ms: the training time, ms.

    Raises:
        InvalidRequest: it has to have started already, or is to start too far ahead.
    """
    latest_ms = now_ms + MAX_DAYS_AHEAD * DAY_MS
    for tag, time_ms in ((NOT_BEFORE_TAG, not_before_ms), (START_BY_TAG, start_by_ms)):
        if time_ms is not None and time_ms > latest_ms:
            raise _refused(f"{tag} is more than {MAX_DAYS_AHEAD} days ahead: name an earlier time")
    if start_by_ms is not None and start_by_ms <= now_ms:
        raise _refused(f"{START_BY_TAG} is past: name a time to come, or remove the tag")


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, [FieldError(field="Tags", message=message)])
