"""What becomes of jobs while somebody waits for them: one sentence for each change, and none twice."""

from __future__ import annotations

from collections.abc import Callable

from headway_client.models import Job
from headway_client.ttl_cache import Remembered

Tell = Callable[[str], None]
"""Shows a sentence, which may hold text that others wrote."""

MAX_FOLLOWED_JOBS = 1000
"""The most jobs of which it is kept what was told of them."""

_FOREVER = float("inf")


class Progress:
    """Tells the changes of jobs.

    Args:
        tell: shows a sentence; None shows nothing.
    """

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._told: Remembered[tuple[object, ...]] = Remembered(limit=MAX_FOLLOWED_JOBS, for_s=_FOREVER)
        self._preemptions: Remembered[int] = Remembered(limit=MAX_FOLLOWED_JOBS, for_s=_FOREVER)

    def see(self, job: Job) -> None:
        """Tell of a job what has changed since it was seen last, if anything."""
        if self._tell is None:
            return
        # The reason's words may change by the minute, such as the time by which a job starts.
        seen = (job.state, job.held, job.place, job.reason.code, job.live_attempt)
        if self._told.get(job.name) == seen:
            return
        self._told.put(job.name, seen)
        known = self._preemptions.get(job.name)
        self._preemptions.put(job.name, job.preemptions)
        if known is not None and job.preemptions > known and job.state != "preempted":
            # It was over before anybody looked again.
            self._tell(f"{job.name} was preempted, and kept its place in the queue")
        self._tell(sentence(job))


def sentence(job: Job) -> str:
    """Return a sentence on where a job stands."""
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
