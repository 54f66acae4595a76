"""Transitions of warm pools: kept, claimed, released, gone."""

from __future__ import annotations

from typing import Any

from headway.model import Demand
from headway.reasons import Reason
from headway.vectors import minus
from headway_service.ports.table import Write
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions.shared import keep_for_preemptor, note_step, return_instances


def claim_warm_pool(pool: WarmPoolRecord, attempt: str) -> list[Write]:
    """An attempt is started that may use it. Fails if it was claimed or released, or is gone.

    Args:
        pool: the warm pool, not claimed.
        attempt: the name of the attempt.
    """
    return [change_warm_pool(pool, claimed_by=attempt)]


def release_warm_pool(pool: WarmPoolRecord, now_ms: int) -> list[Write]:
    """Release a warm pool that the policy does not keep. Fails if it was claimed or released, or is gone.

    Args:
        pool: the warm pool.
    """
    return [change_warm_pool(pool, release_ms=now_ms)]


def release_warm_pool_for(
    pool: WarmPoolRecord, job: JobRecord | None, preemptor: str, freed: Demand, reason: Reason, now_ms: int
) -> list[Write]:
    """Release a warm pool for a waiting job. Fails if it was claimed or released, or is gone.

    If the waiting job has left its place meanwhile, other jobs get the instances.

    Args:
        pool: the warm pool.
        job: the job that left it, in whose history this is a step; None if it is no longer kept.
        preemptor: the waiting job that needs its instances.
        freed: the part of its instances that is reserved for this job.
        reason: why.
    """
    writes = [change_warm_pool(pool, release_ms=now_ms, freed_for=preemptor, freed=dict(freed))]
    if job is not None:
        # The job has ended, or waits, for the same reason as before.
        noted = note_step(job, job.job_state, reason, now_ms, attempt=pool.attempt_name)
        writes.append(noted.model_copy(update={"reason": job.reason}).put(was=job.version))
    return writes


def change_warm_pool(pool: WarmPoolRecord, **changes: Any) -> Write:
    """The write of other fields of a warm pool, on condition that it has not changed."""
    moved = pool.model_copy(update={"version": pool.version + 1, **changes})
    return moved.put(was=pool.version)


def end_warm_pool(
    pool: WarmPoolRecord, preemptor: JobRecord | None, reservation: ReservationRecord | None
) -> list[Write]:
    """A warm pool is gone: its instances are free, reserved for a job, or an attempt's that is charged for them.

    Args:
        pool: the warm pool.
        preemptor: the job that it was released for, if that is still queued.
        reservation: the reservation that this job already has.
    """
    kept, reserves = keep_for_preemptor(pool.freed, preemptor, reservation)
    return [pool.delete(), *return_instances(minus(pool.demand, kept)), *reserves]


def swap_warm_pools(pool: WarmPoolRecord, left: WarmPoolRecord) -> list[Write]:
    """A warm pool is gone: SageMaker uses it for an attempt that was started in another one.

    What was decided on the one holds for the other, which is left in its place: what was started in it, or the job that
    it is released for, gets those instances.

    Args:
        pool: the warm pool that is used.
        left: the warm pool that the attempt was started in.
    """
    return [pool.delete(), *return_instances(pool.demand), change_warm_pool(left, **lent_over(pool))]


def lent_over(pool: WarmPoolRecord) -> dict[str, Any]:
    """What the warm pool that is left gets from the one that is used: see :func:`swap_warm_pools`."""
    taken: dict[str, Any] = {"claimed_by": pool.claimed_by}
    if pool.release_ms is not None:
        taken |= {"release_ms": pool.release_ms, "freed_for": pool.freed_for, "freed": pool.freed}
    return taken
