"""What transitions of several records have in common.

The soak counts each function here as a part of the transition that calls it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headway.job_terms import owner_hash
from headway.lifecycle import (
    TERMINAL,
    JobState,
    JobTrigger,
    next_job_state,
)
from headway.model import Demand
from headway.reasons import Reason
from headway.vectors import minus, overlap, plus, positive
from headway_service.ports.table import Absent, AllOf, AtLeast, Check, Delete, Equals, Put, Update, Write
from headway_service.store.records.array import OpenArrayRecord, UnlaunchableMemberRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.job import (
    MAX_HISTORY,
    JobRecord,
    Step,
    request_key,
)


def move_job(
    job: JobRecord,
    trigger: JobTrigger,
    reason: Reason,
    now_ms: int,
    *,
    attempt: str | None = None,
    **changes: Any,
) -> JobRecord:
    """The job in its next version and state.

    Args:
        job: the job as it was read.
        trigger: what happens to it.
        reason: why.
        attempt: name of the attempt that this is about.
        changes: other fields that change.

    Raises:
        InvalidTransition: the trigger is not allowed in the state of the job.
    """
    return note_step(job, next_job_state(job.job_state, trigger), reason, now_ms, attempt=attempt, **changes)


def note_step(
    job: JobRecord,
    state: JobState,
    reason: Reason,
    now_ms: int,
    *,
    attempt: str | None = None,
    **changes: Any,
) -> JobRecord:
    """The job in its next version, with a step in its history.

    Args:
        job: the job as it was read.
        state: its state from now on.
        reason: why.
        attempt: name of the attempt that this is about.
        changes: other fields that change.
    """
    noted = ReasonRecord.of(reason)
    step = Step(time_ms=now_ms, job_state=state, reason=noted, attempt_name=attempt)
    history = (*job.history, step)
    if len(history) > MAX_HISTORY:
        history = (history[0], *history[-(MAX_HISTORY - 1) :])
    update = {"job_state": state, "reason": noted, "history": history, "version": job.version + 1, **changes}
    return job.model_copy(update=update)


def change_attempt(attempt: AttemptRecord, **changes: Any) -> AttemptRecord:
    """The attempt in its next version."""
    return attempt.model_copy(update={"version": attempt.version + 1, **changes})


def allocate(demand: Demand, pauses: Mapping[str, int] | None = None) -> list[Write]:
    """Take free instances of each pool. Fails if there are too few, or if a pool was paused since.

    Args:
        demand: the instances. A count is negative where a reservation held more than the demand: the rest becomes free.
        pauses: how often pools had been paused.
    """
    return [
        Update(key=PoolRecord.key(pool), adds={"free": -count}, requires=_enough(count, (pauses or {}).get(pool)))
        for pool, count in sorted(demand.items())
    ]


def _enough(count: int, pauses: int | None) -> AtLeast | AllOf:
    enough = AtLeast("free", count)
    return enough if pauses is None else AllOf((enough, Equals("pauses", pauses)))


def return_instances(demand: Demand) -> list[Write]:
    """Make instances of each pool free. A negative count takes them, even if too few are free."""
    return [
        # A pool's record outlives everything that holds its instances. Should it be missing, the write fails.
        Update(key=PoolRecord.key(pool), adds={"free": count}, requires=Equals("pool", pool))
        for pool, count in sorted(demand.items())
        if count
    ]


def require_not_paused(demand: Demand, counted: Collection[str] = ()) -> list[Write]:
    """Check that no pool of the demand is paused, nor all pools.

    A decision that was made before a pause takes effect before the pause is confirmed to the user, or not at all.

    Args:
        counted: pools for which the number of pauses is a condition of the same transaction.
    """
    pools = sorted(demand.keys() - set(counted))
    return [Check(key=PauseRecord.key(pool), requires=Absent()) for pool in (*pools, PauseRecord.EVERYTHING) if pools]


def note_launches(job: JobRecord, moved: JobRecord) -> list[Write]:
    """Let the array of a member know from when on that is unlaunchable, or that it is not.

    Args:
        job: the job before a transition that may change its failed launches, or end it.
        moved: the job after it.
    """
    from_ms = moved.unlaunchable_from_ms if moved.job_state not in TERMINAL else None
    if not job.member_of or (from_ms is None and job.unlaunchable_from_ms is None):
        return []
    note = UnlaunchableMemberRecord(
        job_name=job.job_name, array=job.member_of, index=job.index or 0, from_ms=from_ms or 0
    )
    return [note.forget() if from_ms is None else note.put()]


def open_array(array: JobRecord) -> Put:
    """The write by which ticks find an array, from now on and until it is over."""
    return OpenArrayRecord(
        job_name=array.job_name,
        stops_early=array.array is not None and array.array.early_stopping is not None,
        wakes=1,
        team=array.team,
        owned_by=owner_hash(array.owner),
    ).put()


def wake_array(job: JobRecord) -> list[Write]:
    """An array, or that of a member, no longer rests, as there may be something to do again; nothing for other jobs.

    Args:
        job: the array, or the member.
    """
    array = job.member_of or (job.job_name if job.array is not None else "")
    return [OpenArrayRecord.wake(array)] if array else []


def leave_queue(job: JobRecord) -> list[Write]:
    """Remove the entries of a job from its queues, or from where it waits to enter them."""
    return [Delete(key=key) for key in job.queue_keys()]


def expire_request(job: JobRecord, expires_at: int, *, filled: str | None = None) -> list[Update]:
    """Let the table forget the request of a job that has ended; that of a member is kept with its array.

    Args:
        expires_at: when the table may forget it, s since the epoch.
        filled: the request with the outputs of other jobs, as JSON; None if it stays as it is.
    """
    if job.member_of and not job.has_own_request:
        return []
    details = {} if filled is None else {"jobDetails": filled}
    return [Update(key=request_key(job.job_name), sets={**details, "expiresAt": expires_at})]


def keep_team(name: str, known: TeamRecord | None, machine_ms: int) -> list[Write]:
    """Keep the queues of a team that has left as if it left now. Fails if the team is removed or returns meanwhile.

    Args:
        name: the team.
        known: its record; None if the ledger no longer has it.
    """
    if known is None:
        return [TeamRecord(team=name, left_ms=machine_ms).put(requires=Absent())]
    if known.left_ms is None:
        return []
    return [known.model_copy(update={"left_ms": machine_ms}).put(requires=Equals("leftMs", known.left_ms))]


def keep_for_preemptor(
    freed: Mapping[str, int], preemptor: JobRecord | None, reservation: ReservationRecord | None
) -> tuple[Mapping[str, int], list[Write]]:
    """The part of freed instances that the preemptor, which may have been changed since, still lacks: it is reserved.

    Args:
        freed: instances that were earmarked for the preemptor.
        preemptor: the job that an attempt was stopped for, if it is still queued.
        reservation: the reservation that it already has.

    Returns:
        The instances, and the writes that reserve them.
    """
    if preemptor is None:
        return {}, []
    kept = overlap(freed, positive(minus(preemptor.in_pools(freed).demand, reservation.demand if reservation else {})))
    # If the preemptor leaves the queue meanwhile, the next decision frees the reservation.
    return kept, [_reserve(preemptor.job_name, kept, reservation)] if kept else []


def _reserve(job: str, demand: Mapping[str, int], known: ReservationRecord | None) -> Write:
    if known is None:
        return ReservationRecord(job_name=job, demand=dict(demand)).put(was=None)
    grown = ReservationRecord(job_name=job, demand=plus(known.demand, demand), version=known.version + 1)
    return grown.put(was=known)
