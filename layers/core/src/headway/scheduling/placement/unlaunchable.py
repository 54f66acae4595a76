"""How a decision tries jobs whose last launches got no instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headway.model import WaitingJob
from headway.scheduling.alternatives import choices
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.placement import commit, eligibility
from headway.scheduling.placement.obstacles import HasPlace, Ineligible, Obstacle, Paused, Unlaunchable
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.probes import Probes, in_order_of_tries
from headway.vectors import positive


def apart(among: list[WaitingJob], probes: Probes) -> tuple[list[WaitingJob], list[WaitingJob]]:
    """The choices on which a job is not unlaunchable, and the others that have its place in the queue."""
    if all(each.failed is None for each in among):
        return among, []
    barred = [replace(each, alternatives=()) for each in among if probes.is_barred(each)]
    left = [each for each in among if not probes.is_barred(each)]
    return left, in_order_of_tries(filter(probes.has_place, barred))


def try_in_place(job: WaitingJob, state: PassState) -> None:
    """Try an unlaunchable job that has its place in the queue. It stops nobody to make room for itself."""
    ahead = state.explainer.ahead_of(job)
    if start_any([job], state):
        return
    ground, start = state.ground, None
    is_eligible = eligibility.obstacle(job, ground) is None
    if is_eligible and state.probes.may_reserve(job, ground.would_start_ms(job, stops_others=False)):
        start = commit.reserve(HasPlace(job=job, need=positive(ground.capacity.charged(job))), state)
    _explain((job,), ahead, state, start)


def try_last(state: PassState) -> None:
    """Try jobs that are unlaunchable on all their alternatives on instances that no other job can use now."""
    ahead_of = {job.name: ahead for job, ahead in state.last}
    for job in in_order_of_tries(job for job, _ in state.last):
        tried = sorted(choices(job), key=state.probes.next_ms)
        if not start_any(tried, state, on_leftovers=True):
            _explain(tried, ahead_of[job.name], state)


def start_any(tried: Iterable[WaitingJob], state: PassState, *, on_leftovers: bool = False) -> bool:
    """Start an unlaunchable job on the first alternative that may be tried now and fits. Returns whether it starts.

    Args:
        tried: the job on some of its alternatives.
        on_leftovers: see :func:`headway.scheduling.placement.commit.grant`.
    """
    for each in tried:
        placement = state.start_beside(each) if state.probes.may_start(each) else None
        if placement is not None:
            state.probes.start(each)
            commit.grant(placement, state, on_leftovers=on_leftovers)
            return True
    return False


def _explain(tried: Sequence[WaitingJob], ahead: int, state: PassState, start: ReservedStart | None = None) -> None:
    """The reason of an unlaunchable job: what keeps it from its next try, or why it could not start anyway."""
    first = tried[0]
    obstacle: Obstacle | None = eligibility.obstacle(first, state.ground)
    if isinstance(obstacle, Ineligible | Paused):
        start = None
    else:
        obstacle = Unlaunchable(job=first, tried=tuple(tried), next_ms=state.probes.next_ms(first))
    state.explainer.explain(obstacle, start, ahead=ahead)
