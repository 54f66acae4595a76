"""What a decision has learnt that answers for most jobs of a long queue.

Without it the decision is the same, and takes longer.
"""

from __future__ import annotations

from headway.model import Demand, WaitingJob
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.equals.limits import compared_limit_ms
from headway.scheduling.equals.victims import least_measure
from headway.scheduling.placement.gaps import may_fill
from headway.scheduling.placement.ground import Ground, combination
from headway.scheduling.placement.kinds import Kind, kind_of
from headway.scheduling.placement.obstacles import AtLimit, Behind, Lacking, Obstacle, WouldDelay
from headway.scheduling.placement.placements import Placement
from headway.vectors import plus, shortfall

_Stuck = tuple[int, int, ReservedStart | None, int]
"""The measure and the turn from which on jobs of a kind are stuck, if they may preempt equals; the reserved start that
their victims would delay, if that is why; and the limit from which on they would, ms, 0 for any."""


class Memo:
    """The kinds of jobs that preemption does not help, until something is freed or released.

    Args:
        ground: what the jobs of the decision are placed on.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._policy, self._capacity = ground.policy, ground.capacity
        self._preemption, self._reserved_starts = ground.preemption, ground.reserved_starts
        self._size_changes = ground.size_changes
        #: Whether jobs behind one that finds nothing free could still rank before those that run.
        self._is_in_turns = bool(ground.policy.teams) or ground.policy.ageing is not None
        self._stuck: dict[Kind, _Stuck] = {}

    def note(self, tried: Placement | Obstacle) -> None:
        """Learn from what a job was tried on."""
        if isinstance(tried, Lacking | WouldDelay) and self._may_be_warm(tried.job):
            # It has other victims than jobs that are alike otherwise: first the warm pools that it must not start in.
            return
        if isinstance(tried, Lacking):
            self._note_stuck(tried.job)
        elif isinstance(tried, WouldDelay):
            self._note_stuck(tried.job, tried.head if tried.is_after_stops else None, by_limit=tried.is_for_limit)

    def forget(self) -> None:
        """Something is released or stopped: preemption may help again."""
        self._stuck.clear()

    def answer(self, job: WaitingJob) -> Obstacle | None:
        """What keeps a job from its instances, if a look at the first ones of its pools tells.

        The job neither starts nor preempts, and no start is reserved for it. This holds for most jobs of a long queue.
        """
        capacity, pools = self._capacity, combination(job.demand)
        if not self._reserved_starts.is_at_depth(pools) or capacity.owners or self._may_be_warm(job):
            # What is reserved or being freed for this job, or for one of lower rank, may let it start.
            return None
        kind = kind_of(job, capacity.limits)
        stuck = self._stuck.get(kind)
        if stuck is None or not self._applies(stuck, job):
            if self._preemption.is_possible_for(job):
                return None
            stuck = self._stuck[kind] = (least_measure(job, self._policy), job.terms.turn_ms, None, 0)
        if stuck[2] is not None and self._size_changes:
            # It may outlast a change of size where a job alike did not, as that has a shorter limit.
            return None
        takes = capacity.charged(job)
        if any(count > capacity.sizes[pool] for pool, count in takes.items()):
            return None
        if self._size_changes and not self._size_changes.has_room_for(job):
            return None
        if any(count > capacity.spare[pool] + capacity.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            return _with_victims(job, takes, stuck) or Behind(job=job, pools=pools)
        return self._answer(job, takes, stuck)

    def _may_be_warm(self, job: WaitingJob) -> bool:
        """Whether SageMaker may launch a job in a warm pool."""
        return bool(job.terms.warm_key) and bool(self._capacity.allocations.warm)

    def is_spent(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any later one can start or preempt: nothing is left, and none is outranked."""
        if self._is_in_turns or any(count > 0 for count in self._capacity.spare.values()):
            return False
        return not self._preemption.may_preempt_from(job)

    def _answer(self, job: WaitingJob, takes: Demand, stuck: _Stuck) -> Obstacle | None:
        """The answer for a job whose pools have the instances, that preemption does not help, and without a start."""
        capacity = self._capacity
        if takes is not job.demand and (lacking := shortfall(takes, plus(capacity.spare, capacity.unclaimed))):
            at_limit = AtLimit(job=job, need=takes, lacking=lacking)
            if not self._reserved_starts.is_at_depth(at_limit.combination):
                return None
            return _with_victims(job, takes, stuck) or at_limit
        if job.not_before_ms > self._ground.now_ms or any(capacity.unclaimed.values()):
            return None
        until_ms = self._ground.until_ms(job)
        if self._size_changes and self._size_changes.exceeded_by(job, takes, until_ms) is not None:
            return None
        delayed = self._reserved_starts.delayed_by(takes, until_ms)
        if delayed is None or may_fill(job, takes, self._ground):
            return None
        return WouldDelay(job=job, need=takes, head=delayed)

    def _note_stuck(self, job: WaitingJob, head: ReservedStart | None = None, *, by_limit: bool = False) -> None:
        limit_ms = compared_limit_ms(job.terms.limit_ms) if by_limit else 0
        stuck = (least_measure(job, self._policy), job.terms.turn_ms, head, limit_ms)
        self._stuck[kind_of(job, self._capacity.limits)] = stuck

    def _applies(self, stuck: _Stuck, job: WaitingJob) -> bool:
        least, turn_ms, _, limit_ms = stuck
        if compared_limit_ms(job.terms.limit_ms) < limit_ms:
            return False
        if job.terms.standing.left_ms is None and job.terms.standing.attained_ms is None:
            return True
        # An equal that gives way to this job would have to one that is smaller, and whose turn comes earlier.
        return least_measure(job, self._policy) >= least and job.terms.turn_ms >= turn_ms


def _with_victims(job: WaitingJob, takes: Demand, stuck: _Stuck) -> WouldDelay | None:
    """The answer for a job whose victims would delay a reserved start."""
    _, _, head, _ = stuck
    return None if head is None else WouldDelay(job=job, need=takes, head=head, is_after_stops=True)
