"""The promises where SageMaker gave some launches no instances: all others are decided as if these were not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from headway import reasons
from headway.model import Snapshot
from headway.plan import Preempt, Release, ReleaseWarm, Start
from headway.refusals import is_unlaunchable, retry_ms
from headway.scheduling.alternatives import choices
from headway.scheduling.invariants import check_plan
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.scheduler import schedule
from tests.core.scheduling.promises import test_promises as promises
from tests.core.strategies import NOW_MS, among_equals, by_predictions, refusing, sharing, snapshots


def barred_names(snapshot: Snapshot) -> set[str]:
    """The jobs that are unlaunchable on all their alternatives."""
    return {job.name for job in snapshot.waiting if all(is_unlaunchable(each.failed, NOW_MS) for each in choices(job))}


ANY = (
    refusing(snapshots())
    | refusing(among_equals(snapshots()))
    | refusing(by_predictions(snapshots()))
    | refusing(sharing(snapshots()))
)


def all_or_nothing(snapshot: Snapshot) -> None:
    """Each job starts once, with all that one of its alternatives demands, or has a reason."""
    plan = schedule(snapshot)
    started = [action for action in plan.actions if isinstance(action, Start)]
    waiting = {job.name: job for job in snapshot.waiting}
    assert all(any(each.demand == action.demand for each in choices(waiting[action.job])) for action in started)
    told = [*(action.job for action in started), *(hold.job for hold in plan.waits)]
    assert sorted(told) == sorted(waiting) if plan.unseen == 0 else len(set(told)) == len(told)
    assert all(hold.reason.message for hold in plan.waits)


def nobody_is_stopped_for_them(snapshot: Snapshot) -> None:
    """Nothing is stopped, released or reserved for a job on an alternative on which it is unlaunchable."""
    waiting = {job.name: job for job in snapshot.waiting}
    held = {each.attempt: each for each in snapshot.allocations}
    for action in schedule(snapshot).actions:
        if isinstance(action, Preempt) or (isinstance(action, ReleaseWarm) and action.freed):
            # Nothing is meant for the job where only the limit of its team was used up: then any of its alternatives
            # may be the one that it waits for.
            pools = (action.freed or held[action.attempt].demand).keys()
            on = [each for each in choices(waiting[action.for_job]) if not pools.isdisjoint(each.demand)]
            assert not all(is_unlaunchable(each.failed, NOW_MS) for each in on), f"{action.job} stops in vain"


def one_is_tried_in_a_pool(snapshot: Snapshot) -> None:
    """At most one unlaunchable job is tried in a pool, and not before its time."""
    waiting = {job.name: job for job in snapshot.waiting}
    pools: list[str] = []
    for action in schedule(snapshot).actions:
        if isinstance(action, Start):
            on = next(each for each in choices(waiting[action.job]) if each.demand == action.demand)
            if is_unlaunchable(on.failed, NOW_MS):
                assert on.failed is not None
                assert retry_ms(on.failed) <= NOW_MS
                pools += action.demand
            else:
                assert not action.on_leftovers
    assert len(pools) == len(set(pools))


def others_are_decided_as_if_they_were_not_there(snapshot: Snapshot) -> None:
    """Unlaunchable jobs without a place in the queue, tried on leftovers at most, change nothing for others.

    They share what tries may keep idle: without them, a job that is unlaunchable on one alternative may have a place.
    """
    barred = barred_names(snapshot)
    without = replace(snapshot, waiting=tuple(job for job in snapshot.waiting if job.name not in barred))
    if _has_a_place(snapshot) or _has_a_place(without):
        return

    def acts(of: Snapshot) -> list[str]:
        actions = schedule(of).actions
        return sorted(
            repr(a) for a in actions if getattr(a, "for_job", a.job) not in barred and not isinstance(a, Release)
        )

    assert acts(snapshot) == acts(without)


def _has_a_place(snapshot: Snapshot) -> bool:
    """Whether an unlaunchable job has its place in the queue."""
    probes = PassState(snapshot, explain=False).probes
    return any(
        probes.has_place(each)
        for job in snapshot.waiting
        for each in choices(job)
        if is_unlaunchable(each.failed, NOW_MS)
    )


def without_explanations_the_actions_are_the_same(snapshot: Snapshot) -> None:
    """Without the reasons of waiting jobs the same is done."""

    def acts(*, explain: bool) -> list[str]:
        reason = reasons.started({})
        return [repr(replace(each, reason=reason)) for each in schedule(snapshot, explain=explain).actions]

    assert acts(explain=False) == acts(explain=True)


def plan_is_verified(snapshot: Snapshot) -> None:
    check_plan(snapshot, schedule(snapshot))


PROMISES: list[Callable[[Snapshot], None]] = [
    plan_is_verified,
    all_or_nothing,
    nobody_is_stopped_for_them,
    one_is_tried_in_a_pool,
    others_are_decided_as_if_they_were_not_there,
    without_explanations_the_actions_are_the_same,
    promises.the_order_of_reading_does_not_matter,
    promises.no_victim_is_needless,
    promises.only_warm_pools_are_released,
    promises.instances_are_not_shared_across_teams,
    promises.leftovers_are_released,
]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.__name__)
@given(snapshot=ANY)
def test_a_promise_is_kept_where_launches_got_no_instances(
    promise: Callable[[Snapshot], None], snapshot: Snapshot
) -> None:
    promise(snapshot)
