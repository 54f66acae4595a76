"""When a job may start that depends on the end of other jobs.

``docs/reference/semantics.md`` has these tables in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Condition(StrEnum):
    """``condition``: which ends of a job let a job start that depends on it."""

    OK = "ok"
    ANY = "any"
    FAILED = "failed"


class Ending(StrEnum):
    """``ended``: how a job has ended, as far as jobs that depend on it are concerned.

    A job that is preempted, or tried again, has not ended.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    #: It reached its own time limit.
    TIMED_OUT = "timed out"
    #: By a caller, by the policy, or outside the queue.
    STOPPED = "stopped"


MEETS: Mapping[Condition, frozenset[Ending]] = {
    Condition.OK: frozenset({Ending.COMPLETED}),
    Condition.ANY: frozenset(Ending),
    Condition.FAILED: frozenset({Ending.FAILED, Ending.TIMED_OUT}),
}
"""The ends that meet each condition. Any other end means that it can no longer be met."""


def is_met(condition: Condition, ending: Ending) -> bool:
    """Whether a job has ended as another one requires.

    Args:
        condition: what the other job requires.
        ending: how the job has ended.
    """
    return ending in MEETS[condition]
