"""Which attempts hold what a job waits for, and why they are not stopped for it, in words."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from headway.model import Allocation, WaitingJob
from headway.policy import Policy
from headway.protected import Protected
from headway.reasons.clauses import clock_time

MAX_NAMED_JOBS = 3
"""Jobs that one sentence names."""

ProtectedFrom = Callable[[Allocation], Protected | None]
"""Why an attempt is not stopped for the waiting job that a reason is of; None if it may be."""


def first_to_end(holders: tuple[Allocation, ...]) -> list[Allocation]:
    """The attempts that are named, by their latest end."""

    def key(allocation: Allocation) -> tuple[bool, int, str]:
        return (
            allocation.terms.limit_ms is None,
            allocation.since_ms + (allocation.terms.limit_ms or 0),
            allocation.attempt,
        )

    return heapq.nsmallest(MAX_NAMED_JOBS, holders, key=key)


def held_by(
    job: WaitingJob,
    first: Sequence[Allocation],
    holders: Sequence[Allocation],
    protected: ProtectedFrom,
    now_ms: int,
    policy: Policy,
) -> str:
    """Who holds what a job lacks, as a clause.

    Args:
        job: the job that waits.
        first: the holders that are named.
        holders: all of them.
        protected: why one of them is not stopped for the job.
        policy: the rules that the decision was made under.
    """
    told = [f"{name_of(each)} ({_terms(each, protected, now_ms, policy)})" for each in first]
    rest = len(holders) - len(told)
    text = f", held by {' and '.join(told)}" + (f" and {rest} more" if rest else "")
    may_stop = (each for each in holders if not each.stopping and not each.is_unused and protected(each) is None)
    victim = next(may_stop, None)
    if victim is None:
        return text
    if not job.preempts:
        why = "for this alternative" if job.on_alternative else "while SageMaker gives no clear answers to launches"
        return f"{text}; none of them is stopped {why}"
    those = "those of lower priority" if victim.terms.priority < job.terms.priority else "those that give way to it"
    return f"{text}; stopping {those} would not free enough"


def _terms(holder: Allocation, protected: ProtectedFrom, now_ms: int, policy: Policy) -> str:
    """On what terms an attempt holds its instances."""
    if holder.warm:
        return "being released" if holder.stopping else f"until {clock_time(max(now_ms, _end_ms(holder)), now_ms)}"
    rank = "outside the queue" if holder.outside else f"priority {holder.terms.priority}"
    if holder.opportunistic:
        rank += ", opportunistic"
    if holder.stopping:
        return f"{rank}, stopping"
    if holder.lacks_instances:
        return f"{rank}, without instances so far"
    if holder.terms.limit_ms is None:
        until = "without a time limit"
    else:
        until = f"until {clock_time(max(now_ms, holder.since_ms + holder.terms.limit_ms), now_ms)} at the latest"
    return ", ".join(part for part in (rank, until, _protection(holder, protected(holder), now_ms, policy)) if part)


def _protection(holder: Allocation, why: Protected | None, now_ms: int, policy: Policy) -> str:
    """Why an attempt of lower priority is no victim all the same; empty if that is not so."""
    match why:
        case None | Protected.NOT_LOWER:
            return ""
        case Protected.CAPPED:
            if holder.terms.max_preemptions == 0:
                return "not preemptible"
            until_ms = holder.capped_until_ms(policy.max_preemptions)
            again = "" if until_ms is None else f", and not again before {clock_time(until_ms, now_ms)}"
            return f"preempted {holder.terms.preemptions} times already{again}"
        case Protected.MIN_RUN_TIME:
            return f"within its minimum run time until {clock_time(holder.since_ms + policy.min_run_time_ms, now_ms)}"
        case Protected.WOULD_RANK_BEFORE:
            return "would come before this job again"
        case Protected.GUARANTEED:
            return f"within what team `{holder.terms.team}` is guaranteed"
        case _:
            return str(why)


def named(allocations: Sequence[Allocation]) -> tuple[str, ...]:
    """The jobs that a sentence names of some attempts."""
    return tuple(allocation.job for allocation in allocations[:MAX_NAMED_JOBS] if not allocation.outside)


def _end_ms(allocation: Allocation) -> int:
    return allocation.since_ms + (allocation.terms.limit_ms or 0)


def name_of(allocation: Allocation) -> str:
    """What a sentence calls an attempt."""
    name = f"`{allocation.outside or allocation.job}`"
    return f"the warm pool of {name}" if allocation.warm else name


def names_of(allocations: tuple[Allocation, ...]) -> str:
    """What a sentence calls some attempts, the first ones by name."""
    names = [name_of(allocation) for allocation in allocations[:MAX_NAMED_JOBS]]
    rest = len(allocations) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")
