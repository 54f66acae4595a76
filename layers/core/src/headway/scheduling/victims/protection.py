"""Whether a running attempt may be stopped for a waiting job, and why not."""

from __future__ import annotations

from collections.abc import Mapping

from headway.model import Allocation, Demand, WaitingJob
from headway.policy import Policy
from headway.protected import Protected
from headway.scheduling.equals.victims import gives_way
from headway.scheduling.fair_share import is_borrowed, within_guarantee
from headway.scheduling.ordering import capped_priority, returning_rank, running_priority, waiting_rank


def protection(allocation: Allocation, policy: Policy) -> tuple[int | None, Protected | None]:
    """Until when an attempt may be stopped for no other job, ms, and why; None for ever, 0 and None if it may be now.

    Args:
        allocation: the attempt.
    """
    if allocation.is_unused:
        return 0, None
    if not policy.preemption:
        return None, Protected.PREEMPTION_IS_OFF
    if not allocation.terms.preemptible:
        return None, Protected.NOT_PREEMPTIBLE
    until_ms = allocation.capped_until_ms(policy.max_preemptions)
    if until_ms is None:
        return None, Protected.CAPPED
    runs_until_ms = allocation.since_ms + policy.min_run_time_ms if policy.min_run_time_ms else 0
    return (runs_until_ms, Protected.MIN_RUN_TIME) if runs_until_ms > until_ms else (until_ms, Protected.CAPPED)


def protected_until_ms(allocation: Allocation, policy: Policy) -> int | None:
    """The time from which the attempt may be preempted, ms; None for never.

    Args:
        allocation: the attempt.
    """
    return protection(allocation, policy)[0]


def is_preemptible(allocation: Allocation, now_ms: int, policy: Policy) -> bool:
    """Whether the attempt may be stopped for another job now.

    Args:
        allocation: the attempt.
    """
    return protected_now(allocation, now_ms, policy) is None


def protected_now(allocation: Allocation, now_ms: int, policy: Policy) -> Protected | None:
    """Why the attempt may be stopped for no other job now; None if it may.

    Args:
        allocation: the attempt.
    """
    until_ms, why = protection(allocation, policy)
    if until_ms is None or until_ms > now_ms:
        return why
    return Protected.ENDS_AS_SOON if allocation.ends_as_soon(now_ms) else None


def outranks(
    job: WaitingJob,
    allocation: Allocation,
    use: Mapping[str, Demand],
    now_ms: int,
    policy: Policy,
    *,
    reclaims: bool,
    in_gap: bool = False,
) -> bool:
    """Whether the attempt may be stopped for this job, as far as priorities and teams go.

    See :func:`not_outranked`.
    """
    return not_outranked(job, allocation, use, now_ms, policy, reclaims=reclaims, in_gap=in_gap) is None


def not_outranked(
    job: WaitingJob,
    allocation: Allocation,
    use: Mapping[str, Demand],
    now_ms: int,
    policy: Policy,
    *,
    reclaims: bool,
    in_gap: bool = False,
) -> Protected | None:
    """Why the attempt is not stopped for this job, as far as priorities and teams go; None if it may be.

    Within a team, and where there are no teams, only attempts of strictly lower priority. An attempt of another team
    only if that team keeps its guarantee; then for a job of strictly higher priority, or for any job that
    reclaims the guarantee of its own team. Priority gained by aging protects a job, but never preempts; and an
    attempt is not stopped for a job that its own job would rank before once it waits again. So two jobs never stop each
    other back and forth: each stop either raises the running priorities, or the used part of guarantees.

    An opportunistic attempt is protected by no priority, and in a gap not even by the rank of its job: there its job
    could not start again. No job that it is stopped for is opportunistic, so this comes to an end as well.

    Args:
        job: the waiting job.
        allocation: the attempt.
        use: instances per pool that each team holds, without stopping and opportunistic attempts.
        now_ms: the moment of the decision.
        policy: the rules.
        reclaims: whether the job's team is within its guarantee with this job.
        in_gap: whether the attempt is opportunistic, and a reserved start relies on its end, or it is beyond a budget.
    """
    if allocation.is_unused:
        return None
    why: Protected | None = None
    if running_priority(allocation, policy) >= capped_priority(job.terms.priority, job.terms.team, policy):
        why = Protected.NOT_LOWER
    elif not in_gap and _would_requeue_ahead(allocation, job, now_ms, policy):
        why = Protected.WOULD_RANK_BEFORE
    if allocation.terms.team == job.terms.team:
        return why
    if why is not None and not reclaims:
        return why
    held, guaranteed = use.get(allocation.terms.team, {}), policy.team(allocation.terms.team).guaranteed
    if allocation.beyond_budget:
        # Its job starts after all others again.
        return None
    if allocation.opportunistic:
        # It is not among what its team holds by right. If it would be, its job would rank first again.
        borrowed = not within_guarantee(held, allocation.demand, guaranteed)
    else:
        borrowed = is_borrowed(held, allocation, guaranteed)
    return None if borrowed else Protected.GUARANTEED


def _would_requeue_ahead(allocation: Allocation, job: WaitingJob, now_ms: int, policy: Policy) -> bool:
    """Whether the job of an attempt would rank before this one once it waits again.

    Where teams take turns, a job that something has been freed for comes first among its equals.
    """
    if policy.ageing is None and not allocation.opportunistic:
        # Its priority tells that it would not.
        return False
    returning, waiting = returning_rank(allocation, now_ms, policy), waiting_rank(job, now_ms, policy)
    return returning[0] < waiting[0] if policy.teams else returning < waiting


def yields_to_equal(allocation: Allocation, job: WaitingJob, at_ms: int, policy: Policy) -> bool:
    """Whether the attempt may be stopped for this job although its priority is the same.

    Args:
        allocation: the attempt.
        job: the waiting job.
        at_ms: when the attempt would be stopped, ms.
    """
    if running_priority(allocation, policy) != capped_priority(job.terms.priority, job.terms.team, policy):
        return False
    if _would_requeue_ahead(allocation, job, at_ms, policy):
        return False
    return gives_way(allocation, job, at_ms, policy)
