"""Transitions of an array and its members.

Each changes the array, on condition of the version that was read. So of two that happen at once one fails, and no
member is made, taken in, or counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway import reasons
from headway.lifecycle import JobTrigger
from headway.reasons import Reason
from headway_service.ports.table import Put, Write
from headway_service.store.records.array import MemberResultRecord, MembersRecord
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.ledger import ReservationRecord, TeamRecord
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.shared import expire_request, keep_team, leave_queue, move_job, note_step


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
        machine_ms: the machine time, ms.
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


def make_early(array: JobRecord, member: JobRecord) -> list[Write]:
    """A member becomes a job before its turn; it is set aside.

    Args:
        array: its array.
        member: the member.
    """
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


def take_in(
    array: JobRecord, member: JobRecord, team: TeamRecord | None, now_ms: int, *, machine_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A member that is set aside enters the queue.

    Args:
        array: its array.
        member: the member; it waits and is not held.
        team: the team of the array; None if it has none, or the ledger no longer has it.
        now_ms: the training time, ms.
        machine_ms: the machine time, ms.

    Returns:
        The array as it is then, and the writes.
    """
    members = _members(array)
    left = tuple(each for each in members.set_aside if each != member.index)
    moved = _next(array, {"members": members.model_copy(update={"set_aside": left})})
    entering = note_step(member, member.job_state, reasons.taken_in(array.job_name), now_ms, is_set_aside=False)
    return moved, [
        moved.put(was=array.version),
        entering.put(was=member.version),
        *leave_queue(member),
        *(entry.put() for entry in entering.queue_entries()),
        *(keep_team(array.team, team, machine_ms) if array.team else []),
    ]


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
        array: its array.
        member: the member.
        reservation: its reservation.
        reason: why.
        now_ms: now.
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
        ],
    )


def hold_array(array: JobRecord, reason: Reason, now_ms: int, *, held: bool) -> tuple[JobRecord, list[Write]]:
    """An array that may have members in the queue is held or released; a tick has its waiting members follow.

    Args:
        array: the array.
        reason: why.
        now_ms: now.
        held: whether it is held.
    """
    moved = note_step(array, array.job_state, reason, now_ms, held=held)
    return moved, [moved.put(was=array.version)]


def stop_array(array: JobRecord, reason: Reason, now_ms: int) -> list[Write]:
    """An array that has members stops for good; a tick stops these.

    Args:
        array: the array.
        reason: why.
        now_ms: now.
    """
    return [move_job(array, JobTrigger.STOP, reason, now_ms).put(was=array.version)]


def settle_priorities(array: JobRecord) -> tuple[JobRecord, list[Write]]:
    """All members that have not ended have the priority of their array."""
    moved = _next(array, {"members": _members(array).model_copy(update={"is_reprioritized": False})})
    return moved, [moved.put(was=array.version)]


def _next(array: JobRecord, changes: Mapping[str, Any]) -> JobRecord:
    """The array in its next version, without a step in its history."""
    return array.model_copy(update={"version": array.version + 1, **changes})


def _members(array: JobRecord) -> MembersRecord:
    return array.members or MembersRecord()


def _index(member: JobRecord) -> int:
    return member.index or 0
