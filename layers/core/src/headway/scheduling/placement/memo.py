"""What a decision has learnt that answers for most jobs of a long queue.

Without it the decision is the same, and takes longer.
"""

from __future__ import annotations

from headway.model import WaitingJob
from headway.scheduling.equals.victims import least_measure
from headway.scheduling.placement.ground import Ground, combination
from headway.scheduling.placement.obstacles import Behind, Lacking, Obstacle, WouldDelay
from headway.vectors import shortfall

_Kind = tuple[str, int, bool, bool, bool, bool, tuple[tuple[str, int], ...]]


class Memo:
    """The kinds of jobs that preemption does not help, until something is freed or released.

    Args:
        ground: what the jobs of the decision are placed on.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        #: Of each kind, the measure and the turn from which on this is so, if the jobs may preempt equals.
        self._stuck: dict[_Kind, tuple[int, int]] = {}

    def note(self, obstacle: Obstacle) -> None:
        """Learn from what kept a job from its instances."""
        if isinstance(obstacle, Lacking | WouldDelay) and not self._is_stuck(obstacle.job):
            self._note_stuck(obstacle.job)

    def forget(self) -> None:
        """Something is released or stopped: preemption may help again."""
        self._stuck.clear()

    def answer(self, job: WaitingJob) -> Obstacle | None:
        """What keeps a job from its instances, if a look at the first ones of its pools tells.

        The job neither starts nor preempts, and no start is reserved for it. This holds for most jobs of a long queue.
        """
        ground = self._ground
        capacity, pools = ground.capacity, combination(job.demand)
        may_be_warm = bool(job.warm_key) and bool(capacity.allocations.warm)
        if not ground.reserved_starts.is_at_depth(pools) or capacity.owners or may_be_warm:
            # What is reserved or being freed for this job, or for one of lower rank, may let it start.
            return None
        if not self._is_stuck(job):
            if ground.preemption.is_possible_for(job):
                return None
            self._note_stuck(job)
        takes = capacity.charged(job)
        if any(count > capacity.sizes[pool] for pool, count in takes.items()):
            return None
        if any(count > capacity.spare[pool] + capacity.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            return Behind(job=job, pools=pools)
        if job.not_before_ms > ground.now_ms or any(capacity.unclaimed.values()):
            return None
        if takes is not job.demand and shortfall(takes, capacity.spare):
            # The reason has to name what the team may still use.
            return None
        delayed = ground.reserved_starts.delayed_by(takes, ground.until_ms(job))
        return WouldDelay(job=job, need=takes, head=delayed) if delayed is not None else None

    def is_spent(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any later one can start or preempt: nothing is left, and none is outranked."""
        ground = self._ground
        if ground.policy.teams or ground.policy.ageing is not None:
            return False
        return not any(count > 0 for count in ground.capacity.spare.values()) and not (
            ground.preemption.may_preempt_from(job)
        )

    def _note_stuck(self, job: WaitingJob) -> None:
        self._stuck[_kind(job)] = (least_measure(job, self._ground.policy), job.turn_ms)

    def _is_stuck(self, job: WaitingJob) -> bool:
        least = self._stuck.get(_kind(job))
        if least is None or (job.left_ms is None and job.attained_ms is None):
            return least is not None
        # An equal that gives way to this job would have to one that is smaller, and whose turn comes earlier.
        return least_measure(job, self._ground.policy) >= least[0] and job.turn_ms >= least[1]


def _kind(job: WaitingJob) -> _Kind:
    """What preemption for a job depends on: equal jobs have the same result until something is freed."""
    in_order = (job.left_ms is None, job.attained_ms is None)
    return (job.team, job.priority, job.preempts, job.one_of, *in_order, tuple(job.demand.items()))
