"""Takes the names of its owner out of an ended job."""

from __future__ import annotations

import re
from typing import TypeVar

from headway_service.forgetting.sums import FORGOTTEN
from headway_service.ports.table import Delete, Table
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import EndedAttempt, Step, request_key
from headway_service.store.repository import find_job

_WithReason = TypeVar("_WithReason", Step, EndedAttempt)


def forget_job(table: Table, name: str, owner: str, called: str) -> None:
    """Take the owner, the comment, the request and the names in the history out of an ended job.

    Args:
        name: the name of the job.
        owner: its owner; a job of another one is left alone.
        called: how histories call the owner.

    Raises:
        Conflict: the job was changed meanwhile.
    """
    job = find_job(table, name)
    if job is None or job.owner != owner or job.ended_ms is None:
        return
    named = named_in_text(owner, called)
    moved = job.model_copy(
        update={
            "owner": FORGOTTEN,
            "comment": "",
            "reason": _without(job.reason, named),
            "history": tuple(_reworded(each, named) for each in job.history),
            "attempts": tuple(_reworded(each, named) for each in job.attempts),
            "version": job.version + 1,
        }
    )
    table.write([moved.put(was=job.version), Delete(key=request_key(name))])


def named_in_text(*names: str) -> re.Pattern[str]:
    """Finds a name in a text, but not as a part of another one: in ``user/ada.``, and not in ``user/adam``.

    Names have letters, digits and ``+=,.@_/:-`` (IAM user guide, "IAM identifiers"), of which a sentence has some, too.
    """
    some = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w+=,.@/:-])(?:{some})(?![\w+=@/-]|[,.:][\w+=@/-])")


def _reworded(part: _WithReason, named: re.Pattern[str]) -> _WithReason:
    return part.model_copy(update={"reason": _without(part.reason, named)})


def _without(reason: ReasonRecord, named: re.Pattern[str]) -> ReasonRecord:
    return reason.model_copy(update={"message": named.sub(FORGOTTEN, reason.message)})
