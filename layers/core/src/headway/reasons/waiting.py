"""Why a job waits: reasons that are computed on request and change no job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.budgets.budget import Spent, WhenSpent
from headway.durations import in_words
from headway.model import Allocation, Alternative, Demand, Pause, SizeChange, WaitingJob
from headway.policy import Policy
from headway.reasons.clauses import clock_time, with_shorter_limit
from headway.reasons.codes import Reason, ReasonCode
from headway.reasons.holders import ProtectedFrom, first_to_end, held_by, named, names_of
from headway.refusals import Cause, FailedLaunches, is_unlaunchable
from headway.vectors import describe, total


def starts_now(job: WaitingJob, demand: Demand, *, warm: str = "") -> Reason:
    """The job fits; the next tick launches it.

    Args:
        demand: what it is launched on, in instances per pool: its own, or that of an alternative.
        warm: the job whose warm pool it is started in; empty for none.
    """
    on = describe(demand) + (f" in the warm pool of `{warm}`" if warm else "")
    choices: tuple[WaitingJob | Alternative, ...] = (job, *job.alternatives)
    failed = next((each.failed for each in choices if each.demand == demand), None)
    if failed is None:
        return Reason(code=ReasonCode.STARTS_NOW, message=f"fits, and starts on {on} in a moment")
    _, remedy = _UNLAUNCHABLE[failed.cause]
    message = f"fits, and is tried again on {on} in a moment; {_no_instances(failed)}; {remedy}"
    return Reason(code=ReasonCode.STARTS_NOW, message=message)


def waits_for_capacity(
    job: WaitingJob,
    lacking: Demand,
    holders: tuple[Allocation, ...],
    protected: ProtectedFrom,
    start_by_ms: int | None,
    now_ms: int,
    policy: Policy,
) -> Reason:
    """The job does not fit, and preempting would not make it fit.

    Args:
        lacking: the missing instances per pool.
        holders: the attempts that hold these pools.
        protected: why one of them is not stopped for it.
        start_by_ms: its reserved start, ms; None if unknown.
    """
    first = first_to_end(holders)
    message = "needs " + " and ".join(f"{count} more {pool}" for pool, count in sorted(lacking.items()))
    message += held_by(job, first, holders, protected, now_ms, policy) if first else ", which the jobs ahead of it get"
    beside = total(each.demand for each in holders if each.outside)
    if beside:
        held = describe({pool: count for pool, count in beside.items() if pool in lacking})
        message += f"; {held} of the pool went to training jobs outside the queue (`headway queue --all`)"
    if start_by_ms is not None:
        message += f"; starts by {clock_time(start_by_ms, now_ms)} unless a job of higher rank comes"
    return Reason(code=ReasonCode.WAITS_FOR_CAPACITY, message=message, jobs=named(first))


def budget_spent(spent: Spent, now_ms: int) -> Reason:
    """Nothing is left of a budget that the job takes from.

    Args:
        spent: the budget, and until when nothing is left of it.
        now_ms: the present, ms.
    """
    until = clock_time(spent.until_ms, now_ms)
    if spent.budget.when_spent is WhenSpent.AFTER:
        then = f"until {until} it runs on what no other job can use"
    else:
        then = f"starts from {until} on, or when an administrator grants more (`headway config set`)"
    message = f"the budget `{spent.budget.name}` is spent: {spent.used:.1f} of {spent.amount:.1f}; {then}"
    return Reason(code=ReasonCode.BUDGET_SPENT, message=message)


TRIED_AGAIN = "it is tried again, as its last launches got no instances"
"""What is said of an unlaunchable job that others wait for, which they do for a small part of the time."""


def _head(job: WaitingJob, now_ms: int) -> str:
    """A job that others wait for."""
    again = f"; {TRIED_AGAIN}" if is_unlaunchable(job.failed, now_ms) else ""
    return f"`{job.name}` (priority {job.terms.priority}{again})"


def would_delay(
    head: WaitingJob,
    start_by_ms: int | None,
    now_ms: int,
    shorter_s: int | None = None,
    *,
    would_fill: bool = False,
) -> Reason:
    """The job fits now, but a job ahead of it would have to wait for it.

    Args:
        head: the job ahead.
        start_by_ms: the reserved start of that job, ms; None if unknown.
        shorter_s: the longest run time with which the job would start now, s; None if it would with none.
        would_fill: whether it would start now if it wrote checkpoints.
    """
    name = _head(head, now_ms)
    if start_by_ms is None:
        message = f"waits behind {name}, which waits for jobs without a time limit, so what it needs is kept for it"
    else:
        message = f"would delay {name}, which can start at {clock_time(start_by_ms, now_ms)}"
    message += with_shorter_limit(shorter_s)
    if would_fill:
        message += "; with checkpoints (CheckpointConfig) it could start now, and be stopped in time for that job"
    return Reason(code=ReasonCode.WOULD_DELAY, message=message, jobs=(head.name,))


def waits_for_better(
    better: WaitingJob, instead_of: WaitingJob, start_by_ms: int | None, until_ms: int, now_ms: int
) -> Reason:
    """The job could start on one of its alternatives, and waits for a better one.

    Args:
        better: the job on the alternative that it waits for.
        instead_of: the job on the alternative that it could start on.
        start_by_ms: the reserved start on the better one, ms; None if unknown.
        until_ms: until when it waits for a better one, ms.
    """
    start = f", which it gets by {clock_time(start_by_ms, now_ms)}" if start_by_ms is not None else ""
    message = (
        f"waits for {describe(better.demand)}{start}, as it prefers that to {describe(instead_of.demand)}, which are "
        f"free; it takes a start that is proven by {clock_time(until_ms, now_ms)} at the latest"
    )
    return Reason(code=ReasonCode.WAITS_FOR_BETTER, message=message)


def passing_over(reason: Reason, scores: Sequence[tuple[str, int]]) -> Reason:
    """A reason of a job with alternatives that are passed over, as they are unlikely to get spot instances.

    Args:
        reason: why the job waits or starts on another one.
        scores: the spot pools with low spot placement scores, each with its score; empty if none is passed over.
    """
    clauses = [f"; {pool} is passed over, as its spot placement score is {score} of 10" for pool, score in scores]
    return replace(reason, message=reason.message + "".join(clauses)) if clauses else reason


def waits_for_freed(job: WaitingJob, stopping: tuple[Allocation, ...]) -> Reason:
    """The instances that the job lacks are being freed.

    Args:
        stopping: the attempts that free them.
    """
    has = "has" if len(stopping) == 1 else "have"
    ended = "ended" if any(each.warm for each in stopping) else "stopped"
    return Reason(
        code=ReasonCode.WAITS_FOR_FREED,
        message=f"starts on {_demand(job)} as soon as {names_of(stopping)} {has} {ended}",
        jobs=named(stopping),
    )


def waits_for_checkpoint(job: WaitingJob, victims: tuple[Allocation, ...], stop_ms: int, now_ms: int) -> Reason:
    """Jobs are stopped for the job once a checkpoint that is due soon has been written.

    Args:
        victims: the attempts that are stopped for it.
        stop_ms: when they are stopped, ms.
    """
    are, whose = ("is", "its next checkpoint") if len(victims) == 1 else ("are", "the next checkpoint of one of them")
    return Reason(
        code=ReasonCode.WAITS_FOR_CHECKPOINT,
        message=(
            f"starts on {_demand(job)} in place of {names_of(victims)}, which {are} stopped "
            f"for it in {in_words(stop_ms - now_ms)}, after {whose}, so that less work is lost"
        ),
        jobs=named(victims),
    )


def waits_behind(head: WaitingJob, pools: tuple[str, ...], start_by_ms: int | None, now_ms: int) -> Reason:
    """A job of higher rank waits for the same pool.

    Args:
        head: the first blocked job.
        start_by_ms: the reserved start of that job, ms; None if unknown.
    """
    start = f", which can start by {clock_time(start_by_ms, now_ms)}" if start_by_ms is not None else ""
    return Reason(
        code=ReasonCode.WAITS_BEHIND,
        message=f"waits for {' and '.join(pools)} behind {_head(head, now_ms)}{start}",
        jobs=(head.name,),
    )


def waits_in_line(ahead: int, *, at_least: bool = False, to_come: str = "") -> Reason:
    """The job is so far back that only the number of jobs ahead of it is reported.

    Args:
        ahead: the number of jobs ahead.
        at_least: whether there may be more.
        to_come: :func:`headway.reasons.arrays.members_to_come` that are ahead of it as well.
    """
    if not ahead and to_come:
        message = f"waits behind {to_come}"
    elif not ahead:
        message = "is next in the queue; no decision has considered it yet, which takes a minute at most"
    else:
        jobs = "1 job" if ahead == 1 else f"{ahead} jobs"
        message = f"waits behind {'at least ' if at_least else ''}{jobs} in the queue"
        message += f", and {to_come}" if to_come else ""
    return Reason(code=ReasonCode.WAITS_BEHIND, message=message)


def backs_off(seconds: int, held_by: str = "") -> Reason:
    """SageMaker refused the last launch for now, or does not answer.

    Args:
        seconds: the time until the next try.
        held_by: the cause; empty if it is unknown.
    """
    why = held_by or "SageMaker postponed the last launch"
    wait = in_words(seconds * 1000)
    return Reason(code=ReasonCode.BACKS_OFF, message=f"{why}; next try in {wait}, the place in the queue is kept")


def unlaunchable(tried: Sequence[WaitingJob], next_ms: int, now_ms: int) -> Reason:
    """SageMaker does not launch the job, and did not the last times.

    Args:
        tried: the job on the alternatives that it is tried on, the next one first.
        next_ms: when it may be tried next at the earliest, ms.
    """
    first, failed = tried[0], tried[0].failed
    assert failed is not None  # noqa: S101 - an unlaunchable job has failed launches
    _, remedy = _UNLAUNCHABLE[failed.cause]
    when = "now" if next_ms <= now_ms else f"from {clock_time(next_ms, now_ms)} on"
    return Reason(
        code=ReasonCode.UNLAUNCHABLE,
        message=(
            f"{_no_instances(failed, _demand(first))}; it "
            f"keeps its place, no other job waits for it, and it is tried again {when}, when that many are free; "
            f"{remedy}, and `headway hold {first.name}`, then `headway release {first.name}`, tries it at once"
        ),
    )


def _no_instances(failed: FailedLaunches, on: str = "") -> str:
    """That the last launches got no instances, and AWS's answer.

    Args:
        on: what they were on, if that has not been said.
    """
    times = "launch" if failed.count == 1 else f"{failed.count} launches in a row"
    said = f" ({failed.answer})" if failed.answer else ""
    what, _ = _UNLAUNCHABLE[failed.cause]
    return f"its last {times}{f' on {on}' if on else ''} got no instances: {what}{said}"


_UNLAUNCHABLE = {
    Cause.QUOTA: ("SageMaker refuses it for a quota", "an administrator of the account can raise the quota"),
    Cause.DENIED: ("it is denied", "an administrator of the account can allow it, or its owner change the request"),
    Cause.CREDENTIALS: (
        "SageMaker does not accept the queue's credentials",
        "an operator of the queue can repair them",
    ),
    Cause.UNREADABLE: (
        "the queue cannot read its request",
        "an operator of the queue finds why in its log; submit the job again under another name",
    ),
    Cause.CAPACITY: ("SageMaker had none", "other instance types (alternatives) may be available"),
    Cause.UNANSWERED: ("SageMaker gave no clear answer", "an operator of the queue finds the answers in its log"),
}
"""What each cause means, and who can change it."""


def paused(pool: str, pause: Pause, now_ms: int) -> Reason:
    """A pool that the job demands is paused.

    Args:
        pool: the instance type of the pool.
    """
    what, command = (
        ("everything is", "headway resume") if pause.everything else (f"{pool} is", f"headway resume {pool}")
    )
    message = (
        f"{what} paused since {clock_time(pause.since_ms, now_ms)} by {pause.by}: {pause.reason}; "
        f"the place in the queue is kept, and it starts in its turn after `{command}`"
    )
    return Reason(code=ReasonCode.PAUSED, message=message)


def exceeds_pool(job: WaitingJob, sizes: Demand, plans: Sequence[str] = ()) -> Reason:
    """The job demands more than a pool holds, since the pool was made smaller.

    Args:
        sizes: the largest sizes of the pools that it demands, from now on.
        plans: what is known of the training plans that give pools their sizes.
    """
    if plans:
        remedy = f"{'; '.join(plans)}: stop the job and submit one without the plan, or with fewer instances"
    else:
        remedy = "enlarge the pool (`headway config set`) or stop the job and submit a smaller one"
    return Reason(
        code=ReasonCode.EXCEEDS_POOL,
        message=f"demands {describe(job.demand)} but the pools hold {describe(sizes)}; {remedy}",
    )


def waits_for_plan(job: WaitingJob, plans: Sequence[str]) -> Reason:
    """What the pools hold is not known yet, as SageMaker has not described their training plans.

    Args:
        plans: what is known of the plans.
    """
    return Reason(code=ReasonCode.WAITS_FOR_SIZE, message=f"waits for {describe(job.demand)}: {'; '.join(plans)}")


_STOPPABLE = "one that writes checkpoints (CheckpointConfig) or has the tag headway:stop-at-plan-end=true"
"""A job that starts in a training plan although it may still run when its instances go."""


def outlasts_size(
    pool: str, change: SizeChange, now_ms: int, *, of_plan: bool = False, shorter_s: int | None = None
) -> Reason:
    """The job would still run when a pool becomes too small for it.

    Args:
        change: its change of size.
        of_plan: whether a training plan gives the pool its sizes.
        shorter_s: the longest run time with which the job would start now, s; None if it would with none.
    """
    other = f"; {_STOPPABLE} may run into that" if of_plan else ""
    return Reason(
        code=ReasonCode.WAITS_FOR_SIZE,
        message=(
            f"would still run when the pool {pool} has only {_instances(change.size)} "
            f"({clock_time(change.at_ms, now_ms)}){with_shorter_limit(shorter_s)}{other}"
        ),
    )


def waits_for_growth(
    job: WaitingJob, pool: str, growth: SizeChange, size: int, now_ms: int, start_by_ms: int | None
) -> Reason:
    """The pool is too small for the job now, and will be larger.

    Args:
        growth: the first change after which it is large enough.
        size: its size now.
        start_by_ms: the job's reserved start, ms; None if unknown.
    """
    message = (
        f"waits for {job.demand[pool]} {pool}: the pool has {size} now, and {growth.size} from "
        f"{clock_time(growth.at_ms, now_ms)} on"
    )
    if start_by_ms is not None:
        message += f"; starts by {clock_time(start_by_ms, now_ms)} unless a job of higher rank comes"
    return Reason(code=ReasonCode.WAITS_FOR_SIZE, message=message)


def exceeds_windows(job: WaitingJob, longest_ms: int, plans: Sequence[str] = ()) -> Reason:
    """The pools never have enough instances for as long as the job may run.

    Args:
        longest_ms: the longest time for which they have enough, ms.
        plans: what is known of the training plans that give pools their sizes.
    """
    other = f"{_STOPPABLE} ({'; '.join(plans)})" if plans else "change the schedule of the pool (`headway config set`)"
    limit = "has no time limit" if job.terms.limit_ms is None else f"may run for {job.terms.limit_ms // 1000} s in all"
    return Reason(
        code=ReasonCode.EXCEEDS_POOL,
        message=(
            f"demands {describe(job.demand)} and {limit}, but the pools have so many for at most "
            f"{longest_ms // 1000} s at a time: stop the job and submit one with a shorter limit (MaxRuntimeInSeconds) "
            f"or fewer instances, or {other}"
        ),
    )


def unknown_pool(pool: str, known: tuple[str, ...]) -> Reason:
    """The job demands a pool that was removed from the configuration.

    Args:
        pool: the instance type of the pool.
        known: the names of the existing pools.
    """
    return Reason(
        code=ReasonCode.UNKNOWN_POOL,
        message=(
            f"there is no pool {pool} any more; known pools: {', '.join(known) or 'none'}. "
            "Add the pool (`headway config set`) or stop the job"
        ),
    )


def _demand(job: WaitingJob) -> str:
    return describe(job.demand)


def _instances(count: int) -> str:
    return f"{count} instance" if count == 1 else f"{count} instances"
