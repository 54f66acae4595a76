"""The changes that a board offers, each with the question that it asks first. The queue decides who may make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from headway_client.models import Job

MAX_PRIORITY = 9999
"""The highest priority that the queue accepts, unless its configuration has a lower one."""


class JobActions(Protocol):
    """The part of `headway_client.http.api.HeadwayApi` that changes jobs."""

    def hold(self, name: str) -> Job:
        """Hold a waiting job."""

    def release(self, name: str) -> Job:
        """Release a held job."""

    def stop_job(self, name: str) -> Job:
        """Stop a job."""

    def set_priority(self, name: str, priority: int) -> Job:
        """Change the priority of a job."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of one job.

    Attributes:
        question: asked before the change, with the name of the job.
        make: makes the change.
    """

    question: str
    make: Callable[[JobActions, str], Job]

    def asked_of(self, job: str) -> str:
        """Return the question for a job."""
        return self.question.format(job=job)


CHANGES: Mapping[str, Change] = {
    "hold": Change(question="Hold {job}? It does not start until it is released.", make=lambda api, job: api.hold(job)),
    "release": Change(question="Release {job}? It waits again.", make=lambda api, job: api.release(job)),
    "stop": Change(
        question="Stop {job}? A waiting job leaves the queue, a running one is stopped.",
        make=lambda api, job: api.stop_job(job),
    ),
}
"""The changes that need nothing but the job, by the name of their action."""


def parsed_priority(text: str) -> int | None:
    """Return the priority in a text; None if it is not a whole number from 0 to 9999."""
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdecimal()) or len(stripped) > 4:
        return None
    return int(stripped)
