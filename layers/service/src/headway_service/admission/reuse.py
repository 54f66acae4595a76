"""Whether a submission may be answered by an equal job, as far as it can be checked without the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headway_service.errors import FieldError
from headway_service.store.records.reuse import ReuseRecord


def reuse(wanted: Any, unpinned: Any) -> ReuseRecord | None:
    """What a submission without errors says; None if the job computes by itself.

    Args:
        wanted: ``reuse`` as decoded from JSON.
        unpinned: ``reuseUnpinned``.
    """
    return ReuseRecord(unpinned=unpinned) if wanted else None


def errors(wanted: Any, unpinned: Any) -> Iterator[FieldError]:
    """What is wrong with ``reuse`` and ``reuseUnpinned``.

    Args:
        wanted: ``reuse`` as decoded from JSON.
        unpinned: ``reuseUnpinned``.
    """
    for field, value in (("reuse", wanted), ("reuseUnpinned", unpinned)):
        if not isinstance(value, bool):
            yield FieldError(field=field, message=f"is {value!r:.40}; it is true or false")
    if unpinned is True and wanted is False:
        yield FieldError(field="reuseUnpinned", message="is for jobs with reuse: add reuse, or remove it")
