"""The order of jobs that wait for the same instances: take-overs, borrowing, and complete decisions.

Like those of ``test_promises`` these are predicates, and ``test_mutations`` shows that each notices a broken rule.
"""

from __future__ import annotations

from hypothesis import given

from headway.model import Snapshot, WaitingJob
from headway.plan import Preempt, Release, Start
from headway.reasons import ReasonCode
from headway.scheduling.fair_share import TeamUse
from headway.scheduling.scheduler import schedule
from headway.vectors import minus
from tests.core.scheduling.promises.test_promises import own, plain_rank
from tests.core.strategies import World, borrowing_goes_on, snapshots


def guaranteed(job: WaitingJob, snapshot: Snapshot) -> bool:
    """Whether the guarantee of its team could cover the job, if the team used nothing else."""
    entitled = snapshot.policy.team(job.terms.team).guaranteed
    return all(count <= entitled.get(pool, 0) for pool, count in job.demand.items())


def nothing_is_left_to_decide(snapshot: Snapshot) -> None:
    """When a decision has been carried out, the next one at the same moment has nothing to do.

    Exceptions: while a job backs off, others may count on an attempt that was just started as its victim. One more
    decision may follow where a start ends a reservation, which reserved starts could not rely on, and where a start
    uses up a guarantee that protected an attempt of the same team.
    """
    if any(job.not_before_ms > snapshot.now_ms for job in snapshot.waiting):
        return
    world, teams = World.of(snapshot), snapshot.policy.teams.values()
    for _ in range(2 if snapshot.reservations or any(team.guaranteed for team in teams) else 1):
        world.apply(schedule(world.snapshot()))
    assert not schedule(world.snapshot()).actions


def only_who_is_ahead_takes_over(snapshot: Snapshot) -> None:
    """Promise 5: a reservation goes to a job of higher priority or within a guarantee, not to an equal in turn."""
    waiting = {job.name: job for job in snapshot.waiting}
    promised = {r.job for r in snapshot.reservations} | {a.freed_for for a in snapshot.allocations if a.stopping}
    for action in schedule(snapshot).actions:
        if not isinstance(action, Release) or not action.reason.jobs:
            continue
        loser, taker = waiting[action.job], waiting[action.reason.jobs[0]]
        ahead = plain_rank(taker, snapshot) < plain_rank(loser, snapshot)
        if not snapshot.policy.teams:
            assert ahead
        elif not guaranteed(taker, snapshot):
            higher = plain_rank(taker, snapshot)[0] < plain_rank(loser, snapshot)[0]
            assert higher or (ahead and (taker.name in promised or taker.terms.team == loser.terms.team))


def nobody_borrows_what_is_reclaimed(snapshot: Snapshot) -> None:
    """Guarantees: where borrowers are stopped for the first job of a team, no other job starts to borrow."""
    waiting = {job.name: job for job in snapshot.waiting}
    live = [(a.terms.team, a.demand) for a in snapshot.allocations if not a.stopping]
    use = TeamUse([*live, *((waiting[r.job].terms.team, r.demand) for r in snapshot.reservations if r.job in waiting)])
    plan = schedule(snapshot)
    borrowed: dict[str, set[str]] = {}
    for action in plan.actions:
        if isinstance(action, Release) and action.job in waiting:
            use.add(waiting[action.job].terms.team, action.demand, -1)
        if isinstance(action, Start):
            job = waiting[action.job]
            takes = minus(job.demand, own(snapshot, job.name))
            use.add(job.terms.team, takes)
            entitled = snapshot.policy.team(job.terms.team).guaranteed
            over = {
                pool for pool, count in takes.items() if count > 0 and use[job.terms.team][pool] > entitled.get(pool, 0)
            }
            borrowed.setdefault(job.terms.team, set()).update(over)
    for action in plan.actions:
        if isinstance(action, Preempt) and action.reason.code is ReasonCode.RECLAIMED:
            taker = waiting[action.for_job]
            if _is_first(taker, snapshot):
                beside = {pool for team, pools in borrowed.items() if team != taker.terms.team for pool in pools}
                assert not beside & action.freed.keys()


def _is_first(job: WaitingJob, snapshot: Snapshot) -> bool:
    """Whether no job of its team that waits for some of the same pools ranks before it."""
    return all(
        plain_rank(job, snapshot) <= plain_rank(other, snapshot)
        for other in snapshot.waiting
        if other.terms.team == job.terms.team and other.demand.keys() & job.demand.keys()
    )


@given(snapshots())
def test_an_applied_decision_leaves_nothing_to_decide(snapshot: Snapshot) -> None:
    nothing_is_left_to_decide(snapshot)


@given(snapshots(ageing=False))
def test_equals_do_not_take_over_instances_freed_for_one_of_them(snapshot: Snapshot) -> None:
    only_who_is_ahead_takes_over(snapshot)


@given(snapshots("several", ageing=False))
def test_no_job_borrows_instances_that_others_have_to_free(snapshot: Snapshot) -> None:
    nobody_borrows_what_is_reclaimed(snapshot)


@given(snapshots("several", ageing=False, full=True).map(borrowing_goes_on))
def test_no_job_borrows_beside_a_job_that_reclaims_its_guarantee(snapshot: Snapshot) -> None:
    nobody_borrows_what_is_reclaimed(snapshot)


@given(snapshots())
def test_a_decision_without_explanations_has_the_same_plan(snapshot: Snapshot) -> None:
    plan = schedule(snapshot, explain=False)
    assert plan.actions == schedule(snapshot).actions
    assert not plan.waits
