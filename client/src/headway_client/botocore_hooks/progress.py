"""Notifications about the progress of jobs: one sentence for each change, each sent once."""

from __future__ import annotations

from collections.abc import Callable

from headway_client.job_sentences import progress_sentence
from headway_client.models import Job
from headway_client.ttl_cache import TtlCache

Notify = Callable[[str], None]
"""Shows a sentence, which may contain text written by other users."""

MAX_FOLLOWED_JOBS = 1000
"""Maximum number of jobs whose last notification is kept."""

_FOREVER = float("inf")


class Progress:
    """Notifies about changes of jobs. Clients that share it repeat no sentence of each other.

    Args:
        notify: shows a sentence; None for no notifications.
        own_only: whether only jobs that were given to `follow` are notified about. The SDKs describe all jobs that they
            list, those of other users too.
        changes: whether `update` notifies: not where the SDK prints the changes itself.
    """

    def __init__(self, notify: Notify | None, *, own_only: bool = False, changes: bool = True) -> None:
        self._notify = notify
        self._own_only = own_only
        self._changes = changes
        self._notified: TtlCache[tuple[object, ...]] = TtlCache(max_size=MAX_FOLLOWED_JOBS, ttl_s=_FOREVER)
        self._preemptions: TtlCache[int] = TtlCache(max_size=MAX_FOLLOWED_JOBS, ttl_s=_FOREVER)

    def follow(self, job: Job) -> None:
        """Notify about a job that the caller has submitted or changed, and about its changes from now on."""
        self._report(job)

    def update(self, job: Job) -> None:
        """Notify about the changes of a job since the last update, if there are any."""
        if self._changes and (not self._own_only or self._notified.get(job.name) is not None):
            self._report(job)

    def _report(self, job: Job) -> None:
        if self._notify is None:
            return
        # Without the reason's message, which may change every minute, for example with the expected start.
        current = (job.state, job.held, job.place, job.reason.code, job.live_attempt, *_milestones(job))
        before = self._notified.get(job.name)
        self._notified.put(job.name, current)
        if before == current:
            return
        known = self._preemptions.get(job.name)
        self._preemptions.put(job.name, job.preemptions)
        if known is not None and job.preemptions > known and job.state != "preempted":
            # The preemption began and ended between two updates.
            self._notify(f"{job.name} was preempted, and kept its place in the queue")
        self._notify(progress_sentence(job))


def _milestones(job: Job) -> tuple[int, ...]:
    """Return what changes with each failure of an array's members, and ten times until all have ended."""
    if job.array is None:
        return ()
    ended = job.array.completed + job.array.failed + job.array.stopped
    return job.array.failed, ended * 10 // max(job.array.count, 1)
