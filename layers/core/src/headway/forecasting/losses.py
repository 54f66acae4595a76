"""Which running attempts will lose their instances to a decision: the decisions, run forward for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.forecasting.forecast import by_limits, course_of
from headway.forecasting.members import ArrayToCome, MembersToCome
from headway.forecasting.simulation import RunTime
from headway.model import STOP_MS, Snapshot
from headway.plan import Plan, Preempt, StopForSize
from headway.reasons import Reason
from headway.scheduling.probes import launchable
from headway.scheduling.scheduler import schedule


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A running attempt that will be stopped.

    Attributes:
        job: its job.
        at_ms: when.
        reason: that of the decision.
    """

    job: str
    at_ms: int
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Losses:
    """The running attempts that will be stopped by a decision.

    Attributes:
        by_attempt: those of the snapshot that are not stopping yet.
        until_ms: how far it was looked ahead.
    """

    by_attempt: Mapping[str, Loss]
    until_ms: int


def losses(
    snapshot: Snapshot,
    until_ms: int,
    *,
    arrays: Sequence[ArrayToCome] = (),
    run_time: RunTime | None = None,
    stop_ms: int = STOP_MS,
    steps: int,
) -> Losses:
    """Which running attempts will be preempted, or stopped as their pool becomes smaller.

    If no other job is submitted and all run as long as expected. An unlaunchable job takes nothing.

    Args:
        snapshot: the queue as it is.
        until_ms: how far to look ahead.
        arrays: those whose members enter the queue as others end.
        run_time: as in :func:`headway.forecasting.forecast.forecast`.
        stop_ms: what a preempted attempt takes to end, ms.
        steps: simulated steps, at most.
    """
    snapshot = launchable(snapshot)
    running = {each.attempt for each in snapshot.allocations if not each.warm and not each.stopping}
    found: dict[str, Loss] = {}

    def decide(now: Snapshot) -> Plan:
        plan = schedule(now, explain=False)
        for action in plan.actions:
            if isinstance(action, Preempt | StopForSize) and action.attempt in running:
                found[action.attempt] = Loss(job=action.job, at_ms=now.now_ms, reason=action.reason)
        return plan

    members = MembersToCome(arrays, snapshot) if arrays else None
    course = course_of(snapshot, members, decide, run_time or by_limits(snapshot), stop_ms=stop_ms)
    course.decide_until_done()
    while (next_ms := course.next_ms) is not None and next_ms <= until_ms:
        if not steps:
            return Losses(by_attempt=found, until_ms=course.now_ms)
        course.step()
        steps -= 1
    return Losses(by_attempt=found, until_ms=until_ms)
