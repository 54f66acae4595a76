"""A member of an array, as the job that it becomes."""

from __future__ import annotations

from headway import reasons
from headway.lifecycle import JobState
from headway.sweeps import member_name
from headway_service.store.records.array import ArrayRecord, MembersRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import JobRecord, Step
from headway_service.store.records.listed_job import Usage


def new_member(array: JobRecord, index: int, now_ms: int, *, is_set_aside: bool = False) -> JobRecord:
    """A member that becomes a job now. It has the place in the queue that it would have had since the acceptance.

    Args:
        index: which member it is.
        now_ms: the training time, ms.
        is_set_aside: whether it is in no queue until the array takes it in.
    """
    reason = ReasonRecord.of(
        reasons.made_early(array.job_name)
        if is_set_aside
        else reasons.entered(array.demand, others=[each.demand for each in array.choices[1:]])
    )
    return _member(array, index).model_copy(
        update={
            "is_set_aside": is_set_aside,
            "reason": reason,
            "history": (Step(time_ms=now_ms, job_state=JobState.PENDING, reason=reason),),
            "version": 1,
        }
    )


def described_member(array: JobRecord, index: int) -> JobRecord:
    """A member that is no job yet, as it is shown: it waits for its turn, or never gets it as the array has ended.

    Args:
        index: which member it is.
    """
    member = _member(array, index)
    if array.ending is None:
        reason = ReasonRecord.of(reasons.waits_for_array(array.job_name))
        return member.model_copy(update={"is_set_aside": True, "reason": reason})
    reason = ReasonRecord.of(reasons.never_made(array.job_name))
    update = {"job_state": JobState.STOPPED, "reason": reason, "ended_ms": array.ended_ms}
    return member.model_copy(update=update)


def _member(array: JobRecord, index: int) -> JobRecord:
    numbers = array.array or ArrayRecord(count=0)
    return array.model_copy(
        update={
            "job_name": member_name(array.job_name, index, numbers.count),
            "job_state": JobState.PENDING,
            "array": None,
            "members": None,
            "member_of": array.job_name,
            "index": index,
            "held": False,
            "depends_on": (),
            "dependants": (),
            "comment": "",
            "request_digest": "",
            "idempotency_key": None,
            "usage": Usage(),
            "history": (),
            "ended_ms": None,
            "expires_at": None,
            "version": 0,
        }
    )


def is_made(array: JobRecord, index: int) -> bool:
    """Whether a member of an array is a job, or was."""
    members = array.members or MembersRecord()
    return index < members.next_index or index in members.early
