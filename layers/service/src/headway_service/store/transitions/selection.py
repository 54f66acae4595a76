"""Transition of an attempt to the pool that SageMaker has selected of several."""

from __future__ import annotations

from headway import reasons
from headway.vectors import minus, positive
from headway_service.ports.table import Write
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions.shared import change_attempt, keep_for_preemptor, note_step, return_instances


def select_pool(
    job: JobRecord,
    attempt: AttemptRecord,
    pool: str,
    preemptor: JobRecord | None,
    reservation: ReservationRecord | None,
    now_ms: int,
) -> tuple[AttemptRecord, list[Write]]:
    """SageMaker has selected one of the pools of an attempt; its instances in the others become free.

    What of them was earmarked for a waiting job is reserved for it, as when the attempt ends.

    Args:
        job: the job of the attempt.
        attempt: the attempt.
        pool: the selected pool, one of those that the attempt holds.
        preemptor: the job that the attempt was stopped for, if it is still queued.
        reservation: the reservation that the preemptor already has.
        now_ms: now.

    Returns:
        The attempt as it is then, and the writes.
    """
    narrowed = attempt.in_pool(pool)
    returned = positive(minus(attempt.demand, narrowed.demand))
    earmarked = {each: count for each, count in attempt.freed.items() if each in returned}
    kept, reserves = keep_for_preemptor(earmarked, preemptor, reservation)
    moved = change_attempt(narrowed, freed=positive(minus(attempt.freed, earmarked)))
    reason = reasons.selected(pool, returned)
    noted = note_step(job, job.job_state, reason, now_ms, attempt=attempt.attempt_name)
    return moved, [
        noted.put(was=job.version),
        moved.put(was=attempt.version),
        *return_instances(minus(returned, kept)),
        *reserves,
    ]
