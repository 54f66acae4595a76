"""The next step of an array: it counts members that have ended, makes further ones, and ends. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from headway import reasons
from headway.dependencies import Ending
from headway.lifecycle import WAITING, JobState, JobTrigger
from headway.reasons import Reason
from headway.sweeps.room import members_in_turn
from headway_service.ports.table import MAX_TRANSACTION_WRITES
from headway_service.store.records.array import ArrayRecord, MemberResultRecord, MembersRecord
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.member import new_member
from headway_service.store.transitions.shared import move_job

MAX_COUNTED = 20
"""Ended members that one step counts: each takes two writes of its transaction."""

MAX_FOLLOWING = 50
"""With so many members that wait for equal jobs, no further one is made that may be answered by one."""

_OTHER_WRITES = 6
"""Writes of a transaction for the array itself, its end, and the queues of its team."""

_STATE_AFTER = {
    Ending.COMPLETED: JobState.COMPLETED,
    Ending.FAILED: JobState.FAILED,
    Ending.TIMED_OUT: JobState.FAILED,
    Ending.STOPPED: JobState.STOPPED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A step of an array.

    Attributes:
        array: the array after it, in its next version.
        ended: the members that have ended, and that it counts.
        results: what they have given.
        made: the members that become jobs.
    """

    array: JobRecord
    ended: tuple[EndedJobRecord, ...] = ()
    results: tuple[MemberResultRecord, ...] = ()
    made: tuple[JobRecord, ...] = ()


def next_turn(
    array: JobRecord, ended: Sequence[EndedJobRecord], wanted: int, now_ms: int, *, expires_at: int
) -> Turn | None:
    """The next step of an array; None if there is nothing to do.

    Args:
        ended: its members that have ended, and may have been counted before.
        wanted: how many of its members should be in the queue or run.
        now_ms: the training time, ms.
        expires_at: when the table may forget results, and the array if it ends now, s since the epoch.
    """
    numbers, members = _parts(array)
    counted = tuple(ended[:MAX_COUNTED])
    fresh = [each for each in counted if each.index in members.live]
    moved = _with(array, _counted(numbers, fresh), _without(members, {each.index for each in fresh}))
    indexes = _due(moved, wanted, len(counted))
    moved = _with_made(moved, indexes)
    if indexes and array.job_state is JobState.PENDING:
        usage = array.usage.model_copy(update={"started_ms": now_ms})
        moved = move_job(moved, JobTrigger.START, reasons.array_started(numbers.count), now_ms, usage=usage)
    elif not indexes and _ends(moved):
        trigger, reason = _outcome(moved)
        moved = move_job(moved, trigger, reason, now_ms, held=False, ended_ms=now_ms, expires_at=expires_at)
    elif indexes or counted:
        moved = moved.model_copy(update={"version": array.version + 1})
    else:
        return None
    return Turn(
        array=moved,
        ended=counted,
        results=tuple(_result(array, each, expires_at) for each in fresh),
        made=tuple(new_member(array, index, now_ms) for index in indexes),
    )


def next_member(array: JobRecord, wanted: int, now_ms: int, *, held: int = 0) -> Turn | None:
    """The step that makes one member, of an array whose members may be answered by equal jobs; None if none is due.

    Args:
        wanted: how many of its members should be in the queue or run.
        now_ms: the training time, ms.
        held: how many of those that are set aside wait for no equal job: a person holds them, or jobs that were
            accepted before them.
    """
    members = array.members or MembersRecord()
    if members.active >= wanted or len(members.set_aside) - held >= MAX_FOLLOWING:
        return None
    turn = next_turn(array, (), members.active + 1, now_ms, expires_at=0)
    return turn if turn is not None and turn.made else None


def with_follower(array: JobRecord, member: JobRecord) -> JobRecord:
    """An array after a step that has made one member, which waits for an equal job: it is set aside.

    Args:
        array: the array after the step.
    """
    numbers, members = _parts(array)
    aside = {"set_aside": (*members.set_aside, member.index)}
    return _with(array, numbers, members.model_copy(update=aside))


def with_answered(array: JobRecord, member: JobRecord) -> JobRecord:
    """An array after a step that has made one member, which has ended with the outputs of an equal job: it is counted.

    Args:
        array: the array after the step.
    """
    numbers, members = _parts(array)
    counted = numbers.model_copy(update={"completed": numbers.completed + 1})
    return _with(array, counted, _without(members, {member.index or 0}))


def answered_result(
    array: JobRecord, member: JobRecord, metrics: Mapping[str, str], expires_at: int
) -> MemberResultRecord:
    """What a member has given that has ended with the outputs of an equal job when its turn came.

    Args:
        metrics: the final metrics of the equal job.
        expires_at: when the table may forget it, s since the epoch.
    """
    return MemberResultRecord(
        array=array.job_name,
        index=member.index or 0,
        accepted_ms=array.accepted_time,
        job_state=member.job_state,
        attempt_name=member.output_attempt,
        ended_ms=member.ended_ms,
        metrics=dict(metrics),
        expires_at=expires_at,
    )


def stops(array: JobRecord) -> bool:
    """Whether all members of an array are to be stopped: it is stopping, or has ended before them."""
    return array.job_state is JobState.STOPPING or array.ending is not None


def members_may_enter(array: JobRecord) -> bool:
    """Whether further members of an array may enter the queue."""
    is_open = array.job_state in {JobState.PENDING, JobState.RUNNING} and not array.is_kept_back and not array.held
    return is_open and array.array is not None and not array.array.is_closed


def may_enter(member: JobRecord) -> bool:
    """Whether a member is set aside, unless another tick has taken it in meanwhile, and nothing else keeps it back."""
    return member.is_set_aside and member.job_state in WAITING and not member.held and not member.awaited


def may_rest(array: JobRecord) -> bool:
    """Whether there is nothing to do for an array, unless one of the members that are set aside may enter the queue.

    Then there is nothing to do until a member ends, or a command changes the array or releases a member.
    """
    numbers, members = _parts(array)
    if stops(array) or numbers.is_closed or members.active or members.is_reprioritized or _ends(array):
        return False
    return not members_may_enter(array) or not numbers.unmade


def _counted(numbers: ArrayRecord, ended: Sequence[EndedJobRecord]) -> ArrayRecord:
    states = [_STATE_AFTER[each.ending] for each in ended]
    return numbers.model_copy(
        update={
            "completed": numbers.completed + states.count(JobState.COMPLETED),
            "failed": numbers.failed + states.count(JobState.FAILED),
            "stopped": numbers.stopped + states.count(JobState.STOPPED),
            "stopped_early": numbers.stopped_early + sum(each.stopped_early for each in ended),
        }
    )


def _without(members: MembersRecord, indexes: set[int]) -> MembersRecord:
    return members.model_copy(
        update={
            "live": tuple(each for each in members.live if each not in indexes),
            "set_aside": tuple(each for each in members.set_aside if each not in indexes),
        }
    )


def _with(array: JobRecord, numbers: ArrayRecord, members: MembersRecord) -> JobRecord:
    return array.model_copy(update={"array": numbers, "members": members})


def _due(array: JobRecord, wanted: int, counted: int) -> tuple[int, ...]:
    """The members whose turn it is, as many as fit into the transaction."""
    if not members_may_enter(array):
        return ()
    numbers, members = _parts(array)
    writes = MAX_TRANSACTION_WRITES - _OTHER_WRITES - 2 * counted
    room = min(max(0, wanted - members.active), writes // (1 + len(array.pools)))
    return tuple(islice(members_in_turn(members.next_index, numbers.count, members.early), room))


def _with_made(array: JobRecord, indexes: Sequence[int]) -> JobRecord:
    if not indexes:
        return array
    numbers, members = _parts(array)
    following = indexes[-1] + 1
    while following in members.early:
        following += 1
    return _with(
        array,
        numbers.model_copy(update={"made": numbers.made + len(indexes)}),
        members.model_copy(
            update={
                "next_index": following,
                "early": tuple(each for each in members.early if each >= following),
                "live": (*members.live, *indexes),
            }
        ),
    )


def _ends(array: JobRecord) -> bool:
    numbers, members = _parts(array)
    no_more = not numbers.unmade or numbers.is_closed or array.job_state is JobState.STOPPING
    return array.ending is None and no_more and not members.live


def _outcome(array: JobRecord) -> tuple[JobTrigger, Reason]:
    """How an array ends whose members have ended."""
    numbers, _ = _parts(array)
    stopped = reasons.array_stopped(stopped=numbers.stopped, completed=numbers.completed)
    if numbers.completed + numbers.stopped_early == numbers.count:
        # One whose members were made before their turn, and then answered by equal jobs, has never started.
        trigger = JobTrigger.REUSE if array.job_state is JobState.PENDING else JobTrigger.COMPLETE
        return trigger, reasons.array_completed(numbers.count, stopped_early=numbers.stopped_early)
    if array.job_state is JobState.PENDING:
        # All members were made before their turn, and stopped.
        return JobTrigger.STOP, stopped
    if numbers.failed and array.job_state is not JobState.STOPPING:
        return JobTrigger.FAIL, reasons.array_failed(
            failed=numbers.failed, completed=numbers.completed, never_started=numbers.unmade
        )
    return JobTrigger.END_STOPPED, stopped


def _parts(array: JobRecord) -> tuple[ArrayRecord, MembersRecord]:
    return array.array or ArrayRecord(count=0), array.members or MembersRecord()


def _result(array: JobRecord, ended: EndedJobRecord, expires_at: int) -> MemberResultRecord:
    return MemberResultRecord(
        array=array.job_name,
        index=ended.index,
        accepted_ms=array.accepted_time,
        job_state=_STATE_AFTER[ended.ending],
        stopped_early=ended.stopped_early,
        attempt_name=ended.attempt_name,
        started_ms=ended.started_ms,
        ended_ms=ended.ended_ms,
        metrics=ended.metrics or {},
        expires_at=expires_at,
    )
