"""Which jobs are alike for a decision."""

from __future__ import annotations

from headway.model import WaitingJob

Kind = tuple[str, int, bool, bool, bool, tuple[tuple[str, int], ...]]


def kind_of(job: WaitingJob) -> Kind:
    """What preemption for a job depends on: jobs alike have the same result until something is freed."""
    in_order = (job.terms.standing.left_ms is None, job.terms.standing.attained_ms is None)
    return (job.terms.team, job.terms.priority, job.preempts, *in_order, tuple(job.demand.items()))
