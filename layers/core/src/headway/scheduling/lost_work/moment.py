"""When to stop attempts for a waiting job: now, or once a checkpoint has been written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from heapq import nlargest

from headway.model import LATE_MS, Allocation, WaitingJob
from headway.policy import Policy
from headway.scheduling.lost_work.checkpoints import WRITTEN_MS, interval_ms, next_written_ms
from headway.scheduling.lost_work.lost import work_lost_ms

MAX_MOMENTS = 20
"""Times at which one preemption may be made, beside now: the next checkpoints of the attempts that would lose most."""

_FRESH_MS = WRITTEN_MS + LATE_MS
"""A checkpoint that has been written for no longer is not worth another wait: a decision may come so late."""


def wait_ends_ms(job: WaitingJob, policy: Policy) -> int:
    """Until when attempts that are stopped for a job may write a checkpoint first, ms.

    It is counted from the entry of the job, and not from the first decision that would have preempted for it. So it
    follows from the snapshot, and all waits of a job are within it, however often its victims change.
    """
    return job.terms.entry_time_ms + policy.wait_for_checkpoint_ms


def better_moment_ms(allocation: Allocation, now_ms: int, policy: Policy) -> int | None:
    """When the next checkpoint of an attempt counts as written, ms, if less is lost then; otherwise None.

    Args:
        allocation: the attempt.
    """
    every_ms = interval_ms(allocation, policy)
    if every_ms is None:
        return None
    written_ms = next_written_ms(allocation, every_ms, now_ms)
    better = counted_loss_ms(allocation, written_ms, policy) < counted_loss_ms(allocation, now_ms, policy)
    return written_ms if better else None


def stop_together_ms(
    victims: Collection[Allocation], now_ms: int, until_ms: int, policy: Policy, may_stop: Callable[[int], bool]
) -> int:
    """When to stop attempts together so that least work is lost, ms: now, or after the next checkpoint of one of them.

    Args:
        victims: the attempts.
        until_ms: until when their stop may wait, ms.
        may_stop: whether all of them may still be stopped for the same job at a later time.
    """
    times = {now_ms}
    for each in nlargest(MAX_MOMENTS, victims, key=lambda each: (work_lost_ms(each, now_ms, policy), each.attempt)):
        every_ms = interval_ms(each, policy)
        if every_ms is not None and (written_ms := next_written_ms(each, every_ms, now_ms)) <= until_ms:
            times.add(written_ms)

    def cost(at_ms: int) -> tuple[int, int]:
        return sum(counted_loss_ms(each, at_ms, policy) for each in victims), at_ms

    return min((at_ms for at_ms in times if at_ms == now_ms or may_stop(at_ms)), key=cost)


def counted_loss_ms(allocation: Allocation, at_ms: int, policy: Policy) -> int:
    """Instance-milliseconds lost by a stop, where a checkpoint that was just written is as good as one.

    Args:
        allocation: the attempt.
        at_ms: when it is stopped, ms.
    """
    lost_ms = work_lost_ms(allocation, at_ms, policy)
    if interval_ms(allocation, policy) is None:
        return lost_ms
    return max(lost_ms, _FRESH_MS * sum(allocation.demand.values()))
