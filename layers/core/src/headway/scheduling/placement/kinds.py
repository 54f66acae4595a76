"""Which jobs are alike for a decision."""

from __future__ import annotations

from headway.model import WaitingJob
from headway.scheduling.limits import Limits

Kind = tuple[tuple[str, ...], int, bool, bool, bool, tuple[tuple[str, int], ...]]


def kind_of(job: WaitingJob, limits: Limits) -> Kind:
    """What preemption for a job depends on: jobs alike have the same result until something is freed.

    Args:
        limits: what limits the job beside the sizes of pools.
    """
    in_order = (job.terms.standing.left_ms is None, job.terms.standing.attained_ms is None)
    # Two jobs may name the same pools in another order.
    demand = tuple(job.demand.items()) if len(job.demand) == 1 else tuple(sorted(job.demand.items()))
    return (limits.group(job.terms), job.terms.priority, job.preempts, *in_order, demand)
