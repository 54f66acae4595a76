"""What a decision has learnt that answers for most jobs of a long queue.

Without it the decision is the same, and takes longer.
"""

from __future__ import annotations

from headway.model import Demand, WaitingJob
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination
from headway.scheduling.equals.victims import least_measure
from headway.scheduling.placement.ground import Ground, combination
from headway.scheduling.placement.obstacles import AtTeamLimit, Behind, Lacking, Obstacle, WouldDelay
from headway.scheduling.placement.placements import Placement
from headway.vectors import plus, shortfall

_Kind = tuple[str, int, bool, bool, bool, bool, tuple[tuple[str, int], ...]]


class Memo:
    """The kinds of jobs that preemption does not help, until something is freed or released.

    Args:
        ground: what the jobs of the decision are placed on.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._policy, self._capacity = ground.policy, ground.capacity
        self._preemption, self._reserved_starts = ground.preemption, ground.reserved_starts
        #: Whether jobs behind one that finds nothing free could still rank before those that run.
        self._is_in_turns = bool(ground.policy.teams) or ground.policy.ageing is not None
        #: Of each kind, the measure and the turn from which on this is so, if the jobs may preempt equals, and the
        #: reserved start that victims of theirs would delay, if that is why.
        self._stuck: dict[_Kind, tuple[int, int, ReservedStart | None]] = {}

    def note(self, tried: Placement | Obstacle) -> None:
        """Learn from what a job was tried on."""
        if isinstance(tried, Lacking):
            self._note_stuck(tried.job)
        elif isinstance(tried, WouldDelay):
            self._note_stuck(tried.job, tried.head if tried.is_after_stops else None)

    def forget(self) -> None:
        """Something is released or stopped: preemption may help again."""
        self._stuck.clear()

    def answer(self, job: WaitingJob) -> Obstacle | None:
        """What keeps a job from its instances, if a look at the first ones of its pools tells.

        The job neither starts nor preempts, and no start is reserved for it. This holds for most jobs of a long queue.
        """
        capacity, pools = self._capacity, combination(job.demand)
        may_be_warm = bool(job.warm_key) and bool(capacity.allocations.warm)
        if not self._reserved_starts.is_at_depth(pools) or capacity.owners or may_be_warm:
            # What is reserved or being freed for this job, or for one of lower rank, may let it start.
            return None
        if not self._is_stuck(job):
            if self._preemption.is_possible_for(job):
                return None
            self._note_stuck(job)
        takes = capacity.charged(job)
        never_fits = any(count > capacity.sizes[pool] for pool, count in takes.items())
        if never_fits or not self._ground.size_changes.has_room_for(job):
            return None
        return self._answer(job, pools, takes)

    def is_spent(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any later one can start or preempt: nothing is left, and none is outranked."""
        if self._is_in_turns or any(count > 0 for count in self._capacity.spare.values()):
            return False
        return not self._preemption.may_preempt_from(job)

    def _answer(self, job: WaitingJob, pools: Combination, takes: Demand) -> Obstacle | None:
        """The answer for a job that preemption does not help, and that no start is reserved for."""
        capacity = self._capacity
        if any(count > capacity.spare[pool] + capacity.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            _, _, head = self._stuck[_kind(job)]
            if head is not None:
                return WouldDelay(job=job, need=takes, head=head, is_after_stops=True)
            return Behind(job=job, pools=pools)
        if takes is not job.demand and (lacking := shortfall(takes, plus(capacity.spare, capacity.unclaimed))):
            at_limit = AtTeamLimit(job=job, need=takes, lacking=lacking)
            return at_limit if self._reserved_starts.is_at_depth(at_limit.combination) else None
        if job.not_before_ms > self._ground.now_ms or any(capacity.unclaimed.values()):
            return None
        until_ms = self._ground.until_ms(job)
        if self._ground.size_changes.exceeded_by(job, takes, until_ms) is not None:
            return None
        delayed = self._reserved_starts.delayed_by(takes, until_ms)
        return WouldDelay(job=job, need=takes, head=delayed) if delayed is not None else None

    def _note_stuck(self, job: WaitingJob, head: ReservedStart | None = None) -> None:
        self._stuck[_kind(job)] = (least_measure(job, self._policy), job.turn_ms, head)

    def _is_stuck(self, job: WaitingJob) -> bool:
        least = self._stuck.get(_kind(job))
        if least is None or (job.left_ms is None and job.attained_ms is None):
            return least is not None
        # An equal that gives way to this job would have to one that is smaller, and whose turn comes earlier.
        return least_measure(job, self._policy) >= least[0] and job.turn_ms >= least[1]


def _kind(job: WaitingJob) -> _Kind:
    """What preemption for a job depends on: equal jobs have the same result until something is freed."""
    in_order = (job.left_ms is None, job.attained_ms is None)
    return (job.team, job.priority, job.preempts, job.one_of, *in_order, tuple(job.demand.items()))
