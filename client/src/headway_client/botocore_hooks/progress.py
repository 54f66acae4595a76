"""Notifications about the progress of jobs: one sentence for each change, each sent once."""

from __future__ import annotations

from collections.abc import Callable

from headway_client.models import Job
from headway_client.ttl_cache import TtlCache

Notify = Callable[[str], None]
"""Shows a sentence, which may contain text written by other users."""

MAX_FOLLOWED_JOBS = 1000
"""Maximum number of jobs whose last notification is kept."""

_FOREVER = float("inf")


class Progress:
    """Notifies about changes of jobs.

    Args:
        notify: shows a sentence; None for no notifications.
    """

    def __init__(self, notify: Notify | None) -> None:
        self._notify = notify
        self._notified: TtlCache[tuple[object, ...]] = TtlCache(max_size=MAX_FOLLOWED_JOBS, ttl_s=_FOREVER)
        self._preemptions: TtlCache[int] = TtlCache(max_size=MAX_FOLLOWED_JOBS, ttl_s=_FOREVER)

    def update(self, job: Job) -> None:
        """Notify about the changes of a job since the last update, if there are any."""
        if self._notify is None:
            return
        # Without the reason's message, which may change every minute, for example with the expected start.
        current = (job.state, job.held, job.place, job.reason.code, job.live_attempt)
        if self._notified.get(job.name) == current:
            return
        self._notified.put(job.name, current)
        known = self._preemptions.get(job.name)
        self._preemptions.put(job.name, job.preemptions)
        if known is not None and job.preemptions > known and job.state != "preempted":
            # The preemption began and ended between two updates.
            self._notify(f"{job.name} was preempted, and kept its place in the queue")
        self._notify(sentence(job))


def sentence(job: Job) -> str:
    """Return a sentence about the state of a job."""
    place = f"place {job.place} in the queue" if job.place is not None else "not counted"
    why = job.reason.message
    match job.state:
        case "pending" | "preempted" if job.held:
            return f"{job.name} is held: {why}"
        case "pending":
            return f"{job.name} waits, {place}: {why}"
        case "preempted":
            return f"{job.name} is preempted and waits for its next turn, {place}: {why}"
        case "running" if job.live_attempt is not None:
            return f"{job.name} runs as {job.live_attempt}: {why}"
        case "completed":
            return f"{job.name} has completed"
        case _:
            return f"{job.name} is {job.state}: {why}"
