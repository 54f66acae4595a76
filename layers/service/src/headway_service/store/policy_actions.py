"""What the policy does about a running attempt: add a note to its job, or stop the attempt. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway import reasons
from headway.durations import in_words
from headway.early_stopping import EarlyStopping, Verdict
from headway.jobpolicy.rules import OnStart, Violation
from headway.jobpolicy.utilization import Action, UtilizationRule
from headway.reasons import Reason
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.job import JobRecord

MAX_REQUEUES = 1
"""How often a job with low utilization is requeued; the next time it is stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyAction:
    """One action of the policy.

    Attributes:
        reason: for the history of the job.
        cause: why the attempt is stopped; None if the job only gets a note.
        ends: the sentence with which the job ends or returns to the queue.
        priority: the priority of a requeued job.
        watch: the name of the watch that added a note, so that it adds one only.
        early: whether the job is a member of an array that is stopped early.
    """

    reason: Reason
    cause: StopCause | None = None
    ends: str = ""
    priority: int | None = None
    watch: str = ""
    early: bool = False


def on_start(violations: Sequence[Violation]) -> PolicyAction | None:
    """The action for a started job that breaks rules, which have changed since it was submitted."""
    if not violations:
        return None
    found = "; ".join(f"{each.field} {each.message}" for each in violations)
    if any(each.on_start is OnStart.STOP for each in violations):
        text = f"it breaks rules that it must not run against: {found}"
        return PolicyAction(reason=reasons.stopping_for_rules(text), cause=StopCause.POLICY, ends=f"stopped, as {text}")
    return PolicyAction(reason=reasons.breaks_rules(found))


def on_interruption(job: JobRecord, interruptions: int, most: int | None) -> PolicyAction | None:
    """The action for an interruption of spot instances.

    Args:
        interruptions: how often its current attempt was interrupted so far.
        most: how many interruptions of the job are allowed; None for any number.
    """
    count = job.interruptions + interruptions
    if most is None or job.on_demand or count <= most:
        return None
    text = f"spot instances were taken from it {count} times ({most} are allowed); it continues on on-demand instances"
    return PolicyAction(reason=reasons.stopping_for_interruptions(text), cause=StopCause.ON_DEMAND, ends=text)


def on_pending(pending_limit_s: int) -> PolicyAction:
    """The action for an attempt that SageMaker had no instances for in the time that it may wait for them.

    Args:
        pending_limit_s: that time, s.
    """
    reason = reasons.stopping_without_instances(pending_limit_s)
    return PolicyAction(reason=reason, cause=StopCause.NO_INSTANCES)


def on_drain(pause: PauseRecord) -> PolicyAction:
    """The action for an attempt in a pool that is drained."""
    text = f"{pause.drained_by or pause.by} drains {pause.pool}: {pause.drain_reason or pause.reason}"
    ends = f"waits again in its old place in the queue, as {text}"
    return PolicyAction(reason=reasons.stopping_for_drain(text), cause=StopCause.REQUEUE, ends=ends)


def on_median(settings: EarlyStopping, verdict: Verdict) -> PolicyAction:
    """The action for a member of an array that is worse than the median of others.

    Args:
        settings: what the array says of early stopping.
        verdict: why.
    """
    ends = reasons.worse_than_median(settings.metric, verdict, step_metric=settings.step_metric, ends=True)
    reason = reasons.worse_than_median(settings.metric, verdict, step_metric=settings.step_metric)
    return PolicyAction(reason=reason, cause=StopCause.POLICY, ends=ends.message, early=True)


def on_underuse(job: JobRecord, attempt: AttemptRecord, watch: UtilizationRule) -> PolicyAction | None:
    """The action for an attempt whose alarms report low utilization; None if there is nothing left to do.

    Args:
        attempt: its running attempt.
        watch: the watch whose alarms fire.
    """
    whose, period = "hosts" if watch.all_hosts else "host", in_words(watch.period_s * 1000)
    found = (
        f"watch `{watch.name}`: {watch.metric} was below {watch.below_percent:g} % of what its {whose} could show, "
        f"{watch.periods} times {period} in a row"
    )
    if watch.action is Action.NOTIFY:
        if watch.name in attempt.notified:
            return None
        return PolicyAction(reason=reasons.underused(found), watch=watch.name)
    reason = reasons.stopping_for_underuse(found)
    if watch.action is Action.REQUEUE and job.requeues < MAX_REQUEUES:
        priority = min(job.priority, watch.priority)
        ends = f"its utilization was low; it waits again with priority {priority} ({found})"
        return PolicyAction(reason=reason, cause=StopCause.REQUEUE, ends=ends, priority=priority)
    again = ", and it had been requeued for that before" if watch.action is Action.REQUEUE else ""
    ends = f"stopped, as its utilization was low{again} ({found})"
    return PolicyAction(reason=reason, cause=StopCause.POLICY, ends=ends)
