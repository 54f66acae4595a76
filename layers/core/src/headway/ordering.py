"""Every total order of the scheduler, in one place. Each ends on a unique name, so none is ever ambiguous."""

from __future__ import annotations

from headway.model import Allocation, WaitingJob

MAX_PRIORITY = 9999
"""The highest priority a job may have; the lowest is 0."""


def rank(job: WaitingJob) -> tuple[int, int, str]:
    """The order of a line: high priority first, then who entered first, then the name."""
    return (-job.priority, job.entry_time_ms, job.name)


def rank_key(priority: int, entry_time_ms: int, name: str) -> str:
    """:func:`rank` as text that sorts alike, for a sorted index. Entry times fit until the year 2286."""
    return f"{MAX_PRIORITY - priority:04d}#{entry_time_ms:013d}#{name}"


def victim_order(allocation: Allocation, now_ms: int) -> tuple[int, int, int, str]:
    """Who is preempted first: low priority, then little work lost, then started last, then the name."""
    return (allocation.priority, work_lost_ms(allocation, now_ms), -allocation.since_ms, allocation.attempt)


def work_lost_ms(allocation: Allocation, now_ms: int) -> int:
    """Instance-milliseconds that stopping this attempt would throw away; 0 if the job writes checkpoints."""
    if allocation.checkpoints:
        return 0
    return max(0, now_ms - allocation.since_ms) * sum(allocation.demand.values())
