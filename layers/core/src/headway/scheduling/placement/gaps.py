"""Which jobs may start in a gap before reserved starts that they would still run into (decision 119).

Such a job is stopped in time for the first of these, or for any other job that can use the gap, and loses what it did
since its last checkpoint. So gaps are filled only by decisions that have nothing else to do.
"""

from __future__ import annotations

from headway.model import LATE_MS, STOP_MS, Allocation, Demand, WaitingJob
from headway.scheduling.lost_work.checkpoints import WRITTEN_MS, interval_ms
from headway.scheduling.placement.ground import Ground, combination
from headway.scheduling.victims.protection import outranks, protected_until_ms

NOTICE_MS = STOP_MS + LATE_MS
"""How long before a reserved start the attempts in front of it are stopped: a decision may come late."""

STARTING_MS = 5 * 60_000
"""What a job in a gap is taken to need until it trains: instances are provided, and its image and data loaded."""


def may_fill(job: WaitingJob, counted: Demand, ground: Ground) -> bool:
    """Whether a job may start now although it would still run into reserved starts.

    No start is reserved for it, it writes checkpoints, it can be stopped for each job that it would delay, in time for
    its start, and before that it has the time to write one checkpoint at least.

    Args:
        counted: the instances among those that it takes that reserved starts may rely on.
        ground: what it is placed on.
    """
    policy, now_ms = ground.policy, ground.now_ms
    if not ground.fills_gaps or not job.terms.checkpoints:
        return False
    if not ground.reserved_starts.is_at_depth(combination(job.demand)):
        # A start is reserved for it, which it would lose: jobs behind it wait for that.
        return False
    attempt = Allocation(
        job=job.name, attempt="", demand=job.demand, terms=job.terms, since_ms=now_ms, opportunistic=True
    )
    protected_ms = protected_until_ms(attempt, policy)
    if protected_ms is None:
        return False
    every_ms = interval_ms(attempt, policy) or policy.checkpoint_interval_ms
    stopped_from_ms = max(protected_ms, now_ms + STARTING_MS + every_ms + WRITTEN_MS)
    until_ms, use = ground.until_ms(job), ground.capacity.use
    return all(
        head.stops_others
        and head.start_ms is not None
        and stopped_from_ms <= head.start_ms - NOTICE_MS
        # In its last two minutes a stop would free nothing sooner.
        and (until_ms is None or until_ms > head.start_ms + STOP_MS)
        and outranks(head.job, attempt, use, now_ms, policy, reclaims=ground.preemption.reclaims(head.job))
        for head in ground.reserved_starts.all_delayed_by(counted, until_ms)
    )
