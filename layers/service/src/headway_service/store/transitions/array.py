"""Transitions of an array and its members.

Each changes the array, on condition of the version that was read. So of two that happen at once one fails, and no
member is made, taken in, or counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway import reasons
from headway.lifecycle import JobState, JobTrigger
from headway.reasons import Reason
from headway_service.ports.table import Put, Write
from headway_service.store.records.array import MemberResultRecord, MembersRecord
from headway_service.store.records.capacity.ledger import ReservationRecord, TeamRecord
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.reuse import ReuseRecord
from headway_service.store.transitions.dependency import add_dependant, closed
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.reuse import answered
from headway_service.store.transitions.shared import (
    expire_request,
    keep_team,
    leave_queue,
    move_job,
    note_step,
    wake_array,
)


def advance(
    array: JobRecord,
    moved: JobRecord,
    *,
    ended: Sequence[EndedJobRecord] = (),
    results: Sequence[MemberResultRecord] = (),
    made: Sequence[JobRecord] = (),
    team: TeamRecord | None = None,
    machine_ms: int,
) -> list[Write]:
    """Members that have ended are counted, and further ones become jobs.

    Args:
        array: the array as it was read.
        moved: the array after that, in its next version.
        ended: the members that have ended.
        results: what they have given.
        made: the members that become jobs; a record of a forgotten array of that name is replaced.
        team: the team of the array; None if it has none, or the ledger no longer has it.
    """
    return [
        moved.put(was=array.version),
        *(each.forget() for each in ended),
        *(each.put() for each in results),
        *(Put(item=each.put().item) for each in made),
        *(entry.put() for each in made for entry in each.queue_entries()),
        *(keep_team(array.team, team, machine_ms) if array.team and made else []),
        *(moved.ended() if array.ending is None else []),
        *(expire_request(array, moved.expires_at) if moved.expires_at and array.ending is None else []),
    ]


def make_comparing(
    array: JobRecord,
    moved: JobRecord,
    member: JobRecord,
    *,
    result: MemberResultRecord | None = None,
    twin: JobRecord | None = None,
    claim: Sequence[Write] = (),
    team: TeamRecord | None = None,
    machine_ms: int,
) -> list[Write]:
    """A member that may be answered by an equal job becomes a job: one that has ended, that waits, or that computes.

    Args:
        moved: the array after that, in its next version.
        result: what it has given, if it has ended.
        twin: the equal job that it waits for.
        claim: the write by which it computes for equal jobs.
        team: see :func:`advance`.
    """
    results = [] if result is None else [result]
    return [
        *advance(array, moved, results=results, made=[member], team=team, machine_ms=machine_ms),
        *([] if twin is None else [add_dependant(twin, member.job_name)]),
        *claim,
    ]


def make_early(array: JobRecord, member: JobRecord) -> list[Write]:
    """A member becomes a job before its turn; it is set aside."""
    members, index = _members(array), _index(member)
    numbers = array.array.model_copy(update={"made": array.array.made + 1}) if array.array else None
    early = {
        "early": (*members.early, index),
        "live": (*members.live, index),
        "set_aside": (*members.set_aside, index),
    }
    moved = _next(array, {"array": numbers, "members": members.model_copy(update=early)})
    return [
        moved.put(was=array.version),
        Put(item=member.put().item),
        *(entry.put() for entry in member.queue_entries()),
    ]


def enter_member(
    array: JobRecord,
    member: JobRecord,
    team: TeamRecord | None,
    now_ms: int,
    *,
    machine_ms: int,
    claim: Sequence[Write] = (),
    because: Reason | None = None,
) -> tuple[JobRecord, list[Write]]:
    """A member that is set aside enters the queue.

    Args:
        member: the member; it waits and is not held.
        team: the team of the array; None if it has none, or the ledger no longer has it.
        now_ms: the training time, ms.
        claim: the write by which it computes for equal jobs.
        because: why, if there is more to say than that its turn has come.

    Returns:
        The array as it is then, and the writes.
    """
    moved = _with_entered(array, member, now_ms)
    reason = because or reasons.member_entered(array.job_name)
    entering = note_step(member, member.job_state, reason, now_ms, is_set_aside=False)
    return moved, [
        moved.put(was=array.version),
        entering.put(was=member.version),
        *leave_queue(member),
        *(entry.put() for entry in entering.queue_entries()),
        *(keep_team(array.team, team, machine_ms) if array.team else []),
        *claim,
    ]


def answer(
    array: JobRecord, member: JobRecord, reuse: ReuseRecord, reason: Reason, now_ms: int, expires_at: int
) -> tuple[JobRecord, list[Write]]:
    """A member that is set aside ends with the outputs of an equal job, when it would enter the queue.

    Args:
        member: the member; it waits and is not held.
        reuse: whose outputs it has.
        reason: why.
        expires_at: when the table may delete it, s since the epoch.

    Returns:
        The array as it is then, and the writes.
    """
    moved = _with_entered(array, member, now_ms)
    ended = answered(member, reuse, reason, now_ms, expires_at, is_set_aside=False)
    return moved, [
        moved.put(was=array.version),
        ended.put(was=member.version),
        *leave_queue(member),
        *expire_request(member, expires_at),
        *ended.ended(),
    ]


def follow(member: JobRecord, twin: JobRecord, reason: Reason, now_ms: int) -> list[Write]:
    """A member that is set aside waits for an equal job, when it would enter the queue, and stays set aside.

    Fails if that job has changed since it was read.

    Args:
        member: the member; it waits and is not held.
        twin: the equal job, which has not ended.
        reason: why.
    """
    depends_on = (*member.depends_on, DependencyRecord.on_twin(twin.job_name))
    waiting = note_step(member, member.job_state, reason, now_ms, depends_on=depends_on)
    return [waiting.put(was=member.version), add_dependant(twin, member.job_name)]


def stop_following(member: JobRecord, ended: EndedJobRecord, reason: Reason, now_ms: int) -> list[Write]:
    """An equal job has ended without outputs for a member, which stays set aside in its place until its turn.

    Args:
        ended: the equal job.
        reason: why.
    """
    moved = note_step(member, member.job_state, reason, now_ms, depends_on=closed(member, ended))
    if member.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": member.reason})
    return [moved.put(was=member.version)]


def set_aside(
    array: JobRecord,
    member: JobRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    **changes: Any,
) -> tuple[JobRecord, JobRecord, list[Write]]:
    """A waiting member leaves the queue until its array takes it in; its reservation becomes free.

    Args:
        reason: why.
        changes: other fields of the member that change.

    Returns:
        The array and the member as they are then, and the writes.
    """
    members = _members(array)
    more = {"set_aside": (*members.set_aside, _index(member))}
    moved = _next(array, {"members": members.model_copy(update=more)})
    leaving = note_step(member, member.job_state, reason, now_ms, is_set_aside=True, **changes)
    return (
        moved,
        leaving,
        [
            moved.put(was=array.version),
            leaving.put(was=member.version),
            *leave_queue(member),
            *(entry.put() for entry in leaving.queue_entries()),
            *(free(reservation) if reservation else []),
            # An equal job that waits for it may start before it now.
            *([] if member.twin else member.recheck()),
        ],
    )


def hold_array(array: JobRecord, reason: Reason, now_ms: int, *, held: bool) -> tuple[JobRecord, list[Write]]:
    """An array that may have members in the queue is held or released; a tick has its waiting members follow.

    Args:
        reason: why.
        held: whether it is held.
    """
    moved = note_step(array, array.job_state, reason, now_ms, held=held)
    return moved, [moved.put(was=array.version), *wake_array(array)]


def stop_array(array: JobRecord, reason: Reason, now_ms: int) -> list[Write]:
    """An array that has members stops for good; a tick stops these.

    Args:
        reason: why.
    """
    return [move_job(array, JobTrigger.STOP, reason, now_ms).put(was=array.version), *wake_array(array)]


def finish_priority_change(array: JobRecord) -> tuple[JobRecord, list[Write]]:
    """All members that have not ended have the priority of their array."""
    moved = _next(array, {"members": _members(array).model_copy(update={"is_reprioritized": False})})
    return moved, [moved.put(was=array.version)]


def _next(array: JobRecord, changes: Mapping[str, Any]) -> JobRecord:
    """The array in its next version, without a step in its history."""
    return array.model_copy(update={"version": array.version + 1, **changes})


def _with_entered(array: JobRecord, member: JobRecord, now_ms: int) -> JobRecord:
    """The array in its next version, in which a member is not set aside. It runs: others may never be made by turn."""
    members = _members(array)
    left = members.model_copy(update={"set_aside": tuple(each for each in members.set_aside if each != member.index)})
    if array.job_state is not JobState.PENDING:
        return _next(array, {"members": left})
    usage = array.usage.model_copy(update={"started_ms": now_ms})
    started = reasons.array_started(array.array.count if array.array else 0)
    return move_job(array, JobTrigger.START, started, now_ms, usage=usage, members=left)


def _members(array: JobRecord) -> MembersRecord:
    return array.members or MembersRecord()


def _index(member: JobRecord) -> int:
    return member.index or 0
