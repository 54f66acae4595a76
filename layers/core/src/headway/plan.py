"""The result of a decision: typed actions and waits, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model import Demand
from headway.reasons import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """Release the reservation of a job."""

    job: str
    demand: Demand
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Start a waiting job on all that it demands."""

    job: str
    demand: Demand
    reason: Reason
    #: Whether it is unlaunchable, and tried on instances that no other job can use now: it gives way to the next one.
    on_leftovers: bool = False
    #: See :attr:`headway.model.Allocation.opportunistic`.
    opportunistic: bool = False
    #: See :attr:`headway.model.Allocation.beyond_budget`.
    beyond_budget: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StartWarm(Start):
    """Start a waiting job in a warm pool. Both are charged until SageMaker tells which instances it uses."""

    #: The attempt that left the warm pool.
    warm: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Preempt:
    """Stop an attempt so that a waiting job fits."""

    #: The job whose attempt is stopped.
    job: str
    attempt: str
    #: The waiting job that it is stopped for ...
    for_job: str
    #: ... and the instances that stay earmarked for that job.
    freed: Demand
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class StopForSize:
    """Stop an attempt, or release a warm pool, as its pool has become smaller than its use."""

    job: str
    attempt: str
    #: The pool, and the size that it has now.
    pool: str
    size: int
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseWarm:
    """Release a warm pool so that a waiting job fits."""

    #: The job whose attempt left the warm pool, and that attempt.
    job: str
    attempt: str
    #: The waiting job that it is released for ...
    for_job: str
    #: ... and the instances that stay earmarked for that job.
    freed: Demand
    reason: Reason


Action = Release | Start | Preempt | ReleaseWarm | StopForSize


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A job continues to wait.

    Jobs that wait for the same thing share one reason, so the number of jobs ahead is separate.
    """

    job: str
    reason: Reason
    #: Jobs of higher rank that continue to wait for one of its pools; None if it demands more than it can ever get.
    ahead: int | None = 0
    #: When it starts at the latest if everything keeps to its limits, ms; None if that is not known.
    start_by_ms: int | None = None

    @property
    def sentence(self) -> str:
        """The reason and the place, in one sentence."""
        return self.sentence_with()

    def sentence_with(self, to_come: str = "") -> str:
        """The reason and the place, in one sentence.

        Args:
            to_come: members of arrays that will be ahead of it as well, as a part of a sentence; empty for none.
        """
        ahead = f"{self.ahead} waiting {'job' if self.ahead == 1 else 'jobs'} ahead" if self.ahead else ""
        if to_come:
            ahead = f"{ahead}, and {to_come}" if ahead else f"ahead will be {to_come}"
        return f"{self.reason.message}; {ahead}" if ahead else self.reason.message


@dataclass(frozen=True, kw_only=True, slots=True)
class DelayedPreemption:
    """A preemption that waits for a checkpoint. Until then no other job gets what the waiting job counts on."""

    #: The waiting job, and the attempts that are stopped for it.
    for_job: str
    attempts: tuple[str, ...]
    #: When they are stopped, ms.
    at_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A decision. Actions are in the order to apply them, waits in rank order."""

    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    #: Waiting jobs behind these that the decision did not evaluate (``Policy.backfill_window``).
    unseen: int = 0
    #: What the next decisions preempt if nothing changes until then, in rank order.
    delayed: tuple[DelayedPreemption, ...] = ()
