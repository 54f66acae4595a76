"""What happened to a job, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.durations import in_words
from headway.jobpolicy.requirements import shared_checkpoints
from headway.jobpolicy.training_job import CHECKPOINTS
from headway.model import Allocation, Demand, WaitingJob
from headway.policy import Order
from headway.reasons.codes import Reason, ReasonCode
from headway.refusals import FailedLaunches, retry_ms
from headway.vectors import describe


def entered(demand: Demand, *, warm_pool: bool = False, others: Sequence[Demand] = ()) -> Reason:
    """The job has come into the queue; its request may ask for a warm pool, which it does not get.

    Args:
        demand: instances per pool.
        warm_pool: whether its request asks for a warm pool.
        others: what it can run on as well, in the order of preference.
    """
    without = "; runs without the warm pool that it asks for (KeepAlivePeriodInSeconds)" if warm_pool else ""
    instances = "; otherwise for ".join(describe(each) for each in (demand, *others))
    return Reason(code=ReasonCode.ENTERED, message=f"entered the queue for {instances}{without}")


def held(job: str, by: str) -> Reason:
    """A caller (``by``) holds the job.

    Args:
        by: the caller, as in ``user/ada``.
    """
    message = f"held on request of {by}; `headway release {job}` returns it to its place in the queue"
    return Reason(code=ReasonCode.HELD, message=message)


def released(by: str) -> Reason:
    """A caller has released the job."""
    message = f"released on request of {by}; returned to its place in the queue"
    return Reason(code=ReasonCode.RELEASED, message=message)


def started(demand: Demand, *, warm: str = "", in_gap: bool = False, beyond_budget: bool = False) -> Reason:
    """The job has been started.

    Args:
        demand: instances per pool.
        warm: the job whose warm pool it is started in; empty for none.
        in_gap: whether it fills a gap before reserved starts.
        beyond_budget: whether a budget of it is spent.
    """
    where = f" in the warm pool of `{warm}`" if warm else ""
    gap = "; it fills a gap before other jobs, so it is stopped when one of them can start" if in_gap else ""
    if beyond_budget:
        gap = "; its budget is spent, so it is stopped when another job can start"
    return Reason(
        code=ReasonCode.STARTED,
        message=f"started on {describe(demand)}{where}{gap}",
        jobs=(warm,) if warm else (),
    )


def with_warm_pool(reason: Reason, keep_s: int) -> Reason:
    """The end of an attempt whose instances are kept warm.

    Args:
        reason: why it ended.
        keep_s: how long its instances are kept at most, s.
    """
    kept = f"its instances are kept warm for up to {in_words(keep_s * 1000)}, unless another job needs them"
    return replace(reason, message=f"{reason.message}; {kept}")


def with_shared_checkpoints(reason: Reason, jobs: Sequence[str]) -> Reason:
    """The entry of a job that writes its checkpoints where other jobs in the queue do.

    Args:
        reason: why it has entered.
        jobs: the others, in words.
    """
    return replace(reason, message=f"{reason.message}; warning: {CHECKPOINTS} {shared_checkpoints(jobs)}")


def warm_pool_released(pool: Allocation, preemptor: WaitingJob) -> Reason:
    """A warm pool is released so that a job fits.

    Args:
        pool: the warm pool.
        preemptor: the job that it is released for.
    """
    return Reason(
        code=ReasonCode.WARM_POOL_RELEASED,
        message=(
            f"its warm pool on {describe(pool.demand)} is released so that `{preemptor.name}` (priority "
            f"{preemptor.terms.priority}) can start on {describe(preemptor.demand)}"
        ),
        jobs=(preemptor.name,),
    )


_WHY_EQUALS_GIVE_WAY = {
    Order.SHORTEST_REMAINING: ", as at most half as much is left of its limit times its instances",
    Order.SHARED: ", as it has used less time of instances so far",
}


def preempted(
    victim: Allocation,
    preemptor: WaitingJob,
    *,
    borrowed: Demand | None = None,
    among: Order | None = None,
    checkpoint_ms_ago: int | None = None,
    checkpoint_seen: bool = False,
    from_gap: bool = False,
) -> Reason:
    """The job's attempt is stopped so that another job fits.

    Args:
        victim: the attempt.
        preemptor: the job that it is preempted for.
        borrowed: what the attempt's team had borrowed before, if the preemptor's team reclaims its guarantee.
        among: the order by which an equal gives way; None if the victim is no equal.
        checkpoint_ms_ago: how long ago its last checkpoint was written, or due, ms; None if that is not known, or none
            was yet.
        checkpoint_seen: whether that checkpoint was seen.
        from_gap: whether it filled a gap before reserved starts.
    """
    last = ""
    if checkpoint_ms_ago is not None:
        known = "written" if checkpoint_seen else "due"
        last = f"; its last checkpoint was {known} {in_words(checkpoint_ms_ago)} before"
    why = ""
    if borrowed is not None:
        why = (
            f" for what team `{preemptor.terms.team}` is guaranteed and team `{victim.terms.team}` has borrowed "
            f"({describe(borrowed)})"
        )
    if among is not None:
        why = _WHY_EQUALS_GIVE_WAY.get(among, "")
        if preemptor.terms.standing.expected_ms is not None:
            why = why.replace("its limit", "its expected run time")
    if victim.beyond_budget:
        why += ", as the budget of this job was spent"
    elif from_gap:
        why += ", as this job filled a gap"
    return Reason(
        code=ReasonCode.PREEMPTED if borrowed is None else ReasonCode.RECLAIMED,
        message=(
            f"preempted so that `{preemptor.name}` (priority {preemptor.terms.priority}) can start on "
            f"{describe(preemptor.demand)}{why}; this job (priority {victim.terms.priority}) keeps its place in the "
            f"queue{last}"
        ),
        jobs=(preemptor.name,),
    )


def gives_way(attempt: Allocation, job: WaitingJob, now_ms: int) -> Reason:
    """An attempt that SageMaker has not provided instances for is stopped, so that another job can use them.

    Args:
        job: the job that can use its instances.
    """
    return Reason(
        code=ReasonCode.NO_INSTANCES,
        message=(
            f"SageMaker has provided no instances in {in_words(now_ms - attempt.since_ms)}, so `{job.name}` "
            f"(priority {job.terms.priority}) gets its part of the pool; this job keeps its place in the "
            "queue and is tried again"
        ),
        jobs=(job.name,),
    )


def reservation_released(demand: Demand) -> Reason:
    """The reservation of a job is released."""
    return Reason(
        code=ReasonCode.RESERVATION_RELEASED,
        message=f"releases the {describe(demand)} reserved for it: it no longer waits or no longer fits",
    )


def reservation_outlasted(demand: Demand) -> Reason:
    """The reservation of a job is released, as the job would still run when its pool is too small for it."""
    return Reason(
        code=ReasonCode.RESERVATION_RELEASED,
        message=f"releases the {describe(demand)} reserved for it: it would still run when the pool becomes smaller",
    )


def stopped_for_size(pool: str, size: int, about: str = "") -> Reason:
    """The job's attempt is stopped, as its pool has become smaller than its use.

    Args:
        about: a clause on the training plan that gives it this size; empty if its schedule does.
    """
    instances = f"{size} instance" if size == 1 else f"{size} instances"
    why = f"now ({about})" if about else "by its schedule"
    message = f"stopped as the pool {pool} has only {instances} {why}; keeps its place in the queue"
    return Reason(code=ReasonCode.POOL_SHRANK, message=message)


def lost_plan_instances(plan: str) -> Reason:
    """The job's attempt has ended, as SageMaker took the instances of its training plan.

    Args:
        plan: the name of the plan.
    """
    message = f"ended as SageMaker took the instances of the training plan `{plan}`; keeps its place in the queue"
    return Reason(code=ReasonCode.POOL_SHRANK, message=message)


def reservation_taken_over(demand: Demand, by: WaitingJob) -> Reason:
    """The reservation of a job is taken over by a job of higher rank.

    Args:
        demand: the reserved instances per pool.
        by: the job of higher rank.
    """
    return Reason(
        code=ReasonCode.RESERVATION_RELEASED,
        message=(
            f"hands over the {describe(demand)} reserved for it to `{by.name}` (priority {by.terms.priority}), ahead "
            "of it"
        ),
        jobs=(by.name,),
    )


def outside(charged: Demand, broken: Sequence[str], *, stop: str = "", problem: str = "", lost_job: str = "") -> Reason:
    """A training job did not come through the queue, or the queue has lost its record of it.

    Args:
        charged: what of its instances is charged to pools.
        broken: its violations of rules, each in a sentence.
        stop: why the policy wants it stopped, if it does.
        problem: why it cannot be stopped, if that was tried.
        lost_job: the job that it is an attempt of, if it carries the mark of this queue.
    """
    parts = ["did not come through the queue"]
    if lost_job:
        parts = [f"is an attempt of `{lost_job}` that the queue has no live record of"]
    code = ReasonCode.OUTSIDE
    if problem:
        code = ReasonCode.OUTSIDE_NOT_STOPPED
        parts.append(f"should be stopped, as {stop}, but {problem}")
    elif stop:
        code = ReasonCode.OUTSIDE_STOPPED
        parts.append(f"is being stopped, as {stop}" + ("" if lost_job else "; submit it with `headway submit`"))
    elif broken:
        code = ReasonCode.OUTSIDE_BREAKS_RULES
    parts.append(f"uses {describe(charged)} of its pools" if charged else "uses no instances of any pool")
    if broken:
        parts.append(f"breaks rules: {', '.join(broken)}")
    return Reason(code=code, message="; ".join(parts))


def outside_gone(charged: Demand) -> Reason:
    """A training job that did not come through the queue is no longer there."""
    gives = f"frees {describe(charged)} of its pools" if charged else "took nothing from any pool"
    return Reason(code=ReasonCode.OUTSIDE_GONE, message=f"has ended or was deleted; {gives}")


def stop_requested(by: str, why: str = "") -> Reason:
    """A caller has requested the stop of a running job.

    Args:
        by: the caller, as in ``user/ada``.
        why: the caller's reason; may be empty.
    """
    message = f"stop requested by {by}{_because(why)}; its instances are freed when it has stopped"
    return Reason(code=ReasonCode.STOP_REQUESTED, message=message)


def stopped_while_waiting(by: str, why: str = "") -> Reason:
    """A caller has stopped a job that was waiting.

    Args:
        by: the caller, as in ``user/ada``.
        why: the caller's reason; may be empty.
    """
    return Reason(code=ReasonCode.STOPPED, message=f"stopped by {by} while it waited{_because(why)}")


def priority_changed(before: int, after: int, by: str) -> Reason:
    """A caller has changed the priority of a job.

    Args:
        before: the old priority.
        after: the new priority.
        by: the caller.
    """
    return Reason(code=ReasonCode.PRIORITY_CHANGED, message=f"priority changed from {before} to {after} by {by}")


def changed(what: str, by: str, *, keeps_place: bool) -> Reason:
    """A caller has changed the request of a waiting job.

    Args:
        what: the change, as in ``instances from 4 to 2``.
        by: the caller, as in ``user/ada``.
        keeps_place: whether the job keeps its place in the queue.
    """
    place = "it keeps its place in the queue" if keeps_place else "as it asks for more, it waits as if submitted now"
    return Reason(code=ReasonCode.CHANGED, message=f"{what} changed by {by}; {place}")


def launch_refused(error: object) -> Reason:
    """SageMaker has rejected the request of an attempt."""
    message = f"SageMaker refused the request: {error}; correct it and submit it under a new name"
    return Reason(code=ReasonCode.LAUNCH_REFUSED, message=message)


def vanished(attempt: str) -> Reason:
    """A training job was deleted outside the queue."""
    message = f"the training job `{attempt}` was deleted outside the queue, so how it ended is not known"
    return Reason(code=ReasonCode.VANISHED, message=message)


def left_behind(attempt: str) -> Reason:
    """The queue has moved to another account or region, where it cannot see a training job."""
    message = f"the queue was moved to another account or region, and the training job `{attempt}` stayed behind"
    return Reason(code=ReasonCode.REQUEUED, message=message)


def adopted(attempt: str) -> Reason:
    """A training job that the queue had lost became the live attempt of its job again."""
    message = f"SageMaker runs it as `{attempt}`, whose record the queue had lost"
    return Reason(code=ReasonCode.ADOPTED, message=message)


def launch_postponed(failed: FailedLaunches, now_ms: int) -> Reason:
    """A launch got no instances; the job waits again.

    Args:
        failed: the launches in a row that got none.
    """
    said = failed.answer or "it gave no clear answer, and shows no training job"
    wait = in_words(retry_ms(failed) - now_ms)
    message = f"SageMaker did not launch it now ({said}); next try in {wait} or later"
    return Reason(code=ReasonCode.LAUNCH_POSTPONED, message=message)


def given_up(failed: FailedLaunches, after_ms: int) -> Reason:
    """Only the request of a waiting job has kept it from starting, for too long.

    Args:
        failed: its launches in a row that got no instances.
        after_ms: for how long it was tried, ms.
    """
    message = (
        f"SageMaker has refused this request for {in_words(after_ms)}, {failed.count} times in a row: "
        f"{failed.answer}; correct it, or have an administrator of the account allow it, and submit it under a new name"
    )
    return Reason(code=ReasonCode.LAUNCH_REFUSED, message=message)


def name_taken(attempt: str) -> Reason:
    """The name of an attempt is in use, by a training job that is not the attempt."""
    message = f"SageMaker already has a training job named `{attempt}`; the next try uses another name"
    return Reason(code=ReasonCode.NAME_TAKEN, message=message)


def stopped_before_launch(code: ReasonCode, *, by: str = "", why: str = "") -> Reason:
    """An attempt was stopped before its launch; its job is requeued, or has stopped.

    Args:
        code: whether it was preempted, or requeued by the policy, or its job has stopped.
        by: the caller who requested the stop; empty if it was none, or is not known.
        why: the reason of the caller, or of the policy, that requested the stop; may be empty.
    """
    return Reason(code=code, message=f"stopped{_by(by)} before SageMaker launched it{_because(why)}")


def paused_before_launch() -> Reason:
    """A pool of an attempt was paused before its launch."""
    message = "its pool was paused before SageMaker launched it; waits again in its old place in the queue"
    return Reason(code=ReasonCode.RETURNED_TO_LINE, message=message)


def completed() -> Reason:
    """The job has completed."""
    return Reason(code=ReasonCode.COMPLETED, message="completed")


def failed(cause: str | None) -> Reason:
    """The job has failed; the cause is SageMaker's, if it gives one."""
    return Reason(code=ReasonCode.FAILED, message=f"failed{_because(cause)}")


def retried(reason: Reason, decision: str) -> Reason:
    """A failed job is retried.

    Args:
        reason: why its attempt ended.
        decision: the decision to retry it, in a sentence.
    """
    return Reason(code=ReasonCode.RETRIED, message=f"{reason.message}; {decision}")


def not_retried(reason: Reason, decision: str) -> Reason:
    """A failed job is not retried.

    Args:
        reason: why its attempt ended.
        decision: the decision not to retry it, in a sentence.
    """
    return Reason(code=reason.code, message=f"{reason.message}; {decision}")


def no_spot_instances() -> Reason:
    """The maximum wait for spot instances is over; the job continues on on-demand instances."""
    message = "it waited for spot instances without getting any; it continues on on-demand instances"
    return Reason(code=ReasonCode.ON_DEMAND, message=message)


def requeued_after_preemption(preemptor: str) -> Reason:
    """A preempted attempt has ended and its job waits again."""
    message = f"was preempted for `{preemptor}` and waits again in its old place in the queue"
    return Reason(code=ReasonCode.RETURNED_TO_LINE, message=message, jobs=(preemptor,))


def stopped_at_limit(limit: str) -> Reason:
    """SageMaker has stopped a job at one of the limits of its request."""
    message = f"SageMaker stopped it at its {limit}; submit it again with a higher limit if it needs more"
    return Reason(code=ReasonCode.STOPPED, message=message)


def stopped_on_request(by: str = "", why: str = "") -> Reason:
    """A running job has stopped, as a caller requested.

    Args:
        by: the caller; empty if that is not known.
        why: the caller's reason; may be empty.
    """
    return Reason(code=ReasonCode.STOPPED, message=f"stopped{_by(by) or ' on request'}{_because(why)}")


def stopped_outside(status: str, cause: str | None) -> Reason:
    """A training job was stopped outside the queue.

    Args:
        status: SageMaker's status.
        cause: SageMaker's FailureReason, if it gives one.
    """
    message = f"stopped outside the queue (status {status}){_because(cause)}"
    return Reason(code=ReasonCode.STOPPED_OUTSIDE, message=message)


def breaks_rules(violations: str) -> Reason:
    """A running job breaks rules, and may continue."""
    return Reason(code=ReasonCode.BREAKS_RULES, message=f"it runs, and breaks rules: {violations}")


def stopping_for_rules(cause: str) -> Reason:
    """A running job breaks rules, and is being stopped."""
    return Reason(code=ReasonCode.BREAKS_RULES, message=f"stopping: {cause}")


def stopping_for_interruptions(cause: str) -> Reason:
    """A job lost its spot instances too often, and is being stopped to continue on on-demand instances."""
    return Reason(code=ReasonCode.INTERRUPTED, message=f"stopping: {cause}")


def no_instances(pending_s: int) -> Reason:
    """SageMaker had no instances for an attempt within the time that it may wait for them.

    Args:
        pending_s: that time, s.
    """
    return Reason(code=ReasonCode.NO_INSTANCES, message=f"got no instances within {in_words(pending_s * 1000)}")


def stopping_without_instances(pending_s: int) -> Reason:
    """An attempt that got no instances is being stopped, so that other jobs can use its part of the pool.

    Args:
        pending_s: the time for which it may wait for instances, s.
    """
    return Reason(
        code=ReasonCode.NO_INSTANCES, message=f"stopping, as it got no instances within {in_words(pending_s * 1000)}"
    )


def instances_too_late(pending_s: int) -> Reason:
    """An attempt got instances after the decision to stop it for want of them, and before it was stopped.

    Args:
        pending_s: the time for which it may wait for instances, s.
    """
    message = (
        "waits again in its old place in the queue: stopped as it had no instances after "
        f"{in_words(pending_s * 1000)}; it got them just before the stop, so this counts as no failure"
    )
    return Reason(code=ReasonCode.REQUEUED, message=message)


def stopping_for_drain(cause: str) -> Reason:
    """A job is being stopped because a pool of it is drained."""
    return Reason(code=ReasonCode.STOP_REQUESTED, message=f"stopping, as {cause}; it keeps its place in the queue")


def underused(found: str) -> Reason:
    """A job has low utilization, and may continue."""
    return Reason(code=ReasonCode.UNDERUSED, message=f"it continues, and has low utilization ({found})")


def stopping_for_underuse(found: str) -> Reason:
    """A job has low utilization, and is being stopped."""
    return Reason(code=ReasonCode.UNDERUSED, message=f"stopping, as it has low utilization ({found})")


def _by(caller: str) -> str:
    return f" by {caller}" if caller else ""


def _because(cause: str | None) -> str:
    return f": {cause}" if cause else ""
