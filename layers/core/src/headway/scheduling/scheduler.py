"""The decision: which waiting jobs start, which attempts are preempted, and why all other jobs wait."""

from __future__ import annotations

from headway.model import Snapshot, WaitingJob
from headway.plan import Plan
from headway.scheduling.alternatives import on_what_is_promised
from headway.scheduling.placement import commit, eligibility, unlaunchable
from headway.scheduling.placement.beyond_budget import may_start_beyond, try_beyond
from headway.scheduling.placement.obstacles import Obstacle
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import Placement, PlacementBase
from headway.scheduling.placement.preferences import choose, ranked, without_unlikely_spot
from headway.scheduling.placement.trying import start_now, try_on, want_of
from headway.scheduling.queue_order import in_rank_order


def schedule(snapshot: Snapshot, *, explain: bool = True) -> Plan:
    """Decide what to do now. Pure: the same snapshot gives the same plan.

    The decision considers jobs in rank order. A job that fits starts. A job that does not fit, but would if attempts
    that it outranks stopped, preempts them, and what they free is earmarked for it. Any other job is blocked: the first
    blocked jobs of each combination of pools get a reserved start, computed from the limits of the running attempts.
    From then on a job starts or preempts only if it delays none of these starts. A job that demands more than a pool's
    size, or demands a paused pool, waits without blocking other jobs. A job that would still run when a pool becomes
    smaller, on more than the pool has then, is blocked too. A job that SageMaker may launch in a warm pool starts in
    it; a warm pool is also an attempt that every job outranks. If the policy lets jobs fill gaps, and there is nothing
    else to do, jobs start that will be stopped in time for reserved starts.

    Args:
        snapshot: the state to decide on.
        explain: whether to give the reasons of the jobs that wait. Without them the plan has the same actions, and
            the decision is much faster on a long queue.
    """
    bound = on_what_is_promised(snapshot)
    state = PassState(bound, explain=explain)
    plan = decide(state)
    if plan.actions or not state.has_gaps:
        return plan
    return decide(PassState(bound, explain=explain, fills_gaps=True))


def decide(state: PassState) -> Plan:
    """Take a decision through its steps.

    Args:
        state: the state at its begin.
    """
    ground, window = state.ground, _Window(state)
    # 1. What nobody can use any more becomes free, and what a pool has lost is stopped.
    commit.release_leftovers(state)
    commit.stop_excess(state)
    # 2. Each job in order of rank, as far as the decision looks.
    for job in in_rank_order(state.snapshot, ground.capacity.use, ground.capacity.guarantees, ground.comparisons):
        # Most jobs are not among those, and there may be many.
        may_be_beside = job.failed is not None or state.snapshot.pauses
        if not (may_be_beside and _is_beside_queue(job, state)):
            if window.ends_before(job):
                break
            if window.is_closed and job.name not in window.owed:
                continue
            # 3. The best way in which it gets its instances, or what keeps it from them.
            found = _find(job, state)
            if isinstance(found, PlacementBase):
                # 4. It gets them, now or when attempts have stopped.
                commit.grant(found, state)
            elif found is not None and may_start_beyond(found):
                state.beyond.append((job, found, state.explainer.ahead_of(job)))
            elif found is not None:
                # 5. It waits, and a start may be reserved for it.
                state.note_gap(found)
                commit.keep_waiting(found, state)
            if window.owed:
                window.pass_by(job)
        state.considered += 1
    # 6. On what nobody else can use, jobs are tried that SageMaker did not launch the last times.
    unlaunchable.try_last(state)
    # 7. On what is left then, jobs are tried whose budgets are spent.
    try_beyond(state)
    return state.plan()


class _Window:
    """How far a decision sees, which has to end in time under any policy.

    A job that is not considered passes no other job. Those that something is promised to are considered however far
    back they are.

    Attributes:
        owed: those that were not considered yet.
    """

    def __init__(self, state: PassState) -> None:
        self.owed = set(state.ground.capacity.owners)
        self._explains = state.explainer.enabled
        self._memo, self._comparisons = state.memo, state.ground.comparisons
        self._capacity, self._reserved_starts = state.ground.capacity, state.ground.reserved_starts
        #: Jobs that may still be considered behind the first one with a reserved start.
        self._left = state.ground.policy.backfill_window

    @property
    def is_closed(self) -> bool:
        """Whether no other job is considered."""
        return self._left < 0 or self._comparisons.is_exhausted

    def ends_before(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any behind it is considered."""
        if self._reserved_starts:
            self._left -= 1
        if self.owed:
            return False
        return self.is_closed or (not self._explains and self._memo.is_spent(job))

    def pass_by(self, job: WaitingJob) -> None:
        """A job was considered: what was promised to it is taken, or kept for it."""
        self._capacity.mark_considered(job)
        self.owed.discard(job.name)


def _is_beside_queue(job: WaitingJob, state: PassState) -> bool:
    """Whether a job passes nobody, so that it takes no part of the window from others: paused, or tried at the end."""
    if state.snapshot.pauses and not job.alternatives and (paused := eligibility.is_paused(job, state.ground)):
        state.explainer.explain(paused)
    elif job.failed is not None and state.probes.is_last(job):
        state.last.append((job, state.explainer.ahead_of(job)))
    else:
        return False
    return True


def _find(job: WaitingJob, state: PassState) -> Placement | Obstacle | None:
    """The placement of a job, or what keeps it from one; None if it was tried as an unlaunchable job."""
    if job.alternatives:
        return _find_on_alternatives(job, state)
    if job.failed is not None and state.probes.is_barred(job):
        unlaunchable.try_in_place(job, state)
        return None
    return _find_on(job, state)


def _find_on(job: WaitingJob, state: PassState) -> Placement | Obstacle:
    """The same for a job on one alternative."""
    ground = state.ground
    found = eligibility.over_budget(job, ground) or state.memo.answer(job) or eligibility.never_fits(job, ground)
    if found is not None:
        return found
    commit.count_promises(job, state)
    tried = try_on(job, ground)
    state.memo.note(tried)
    return tried


def _find_on_alternatives(job: WaitingJob, state: PassState) -> Placement | Obstacle | None:
    """The same for a job that may choose. Nothing is reserved or being freed for it."""
    ground = state.ground
    among, barred = unlaunchable.apart(ranked(job, ground), state.probes)
    if not among:
        unlaunchable.try_in_place(barred[0], state)
        return None
    among, passed_over = without_unlikely_spot(among, ground)
    state.explainer.passes_over(job, passed_over)
    eligible = [each for each in among if eligibility.obstacle(each, ground) is None]
    starts = barred and any(start_now(want_of(each, ground), ground) for each in eligible)
    if barred and not starts and unlaunchable.start_any(barred, state):
        return None
    if not eligible:
        return eligibility.obstacle(among[0], ground)
    chosen = choose(eligible, job.terms.entry_time_ms + job.wait_at_most_ms, ground, state.memo)
    state.memo.note(chosen)
    return chosen
