"""What the API says of a waiting job is what a decision on the same state says, and it comes true."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headway.plan import Plan, Start
from headway.reasons import Reason, ReasonCode
from headway.reasons.waiting import TRIED_AGAIN
from headway_verification.soak.violations import require

SOON_S = 600
"""A job that the API says starts now may wait for so long: for ticks, and for launches that others make first."""

LATE_S = 900
"""How much later than promised a job may start: an attempt ends a little after its limit, and is observed then."""

BEHIND = frozenset({ReasonCode.WAITS_BEHIND, ReasonCode.WOULD_DELAY})
"""The reasons of jobs that wait for the start of another job."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the API has said of a waiting job.

    Attributes:
        job: the job.
        reason: the reason of its document.
        now_ms: the time by the clock of the function, ms.
    """

    job: str
    reason: Mapping[str, Any]
    now_ms: int


@dataclass(frozen=True, kw_only=True)
class _Promise:
    at_ms: int
    #: The jobs that waited when it was made.
    waiting: frozenset[str]


class TruthInvariants:
    """Follows what the API says of waiting jobs."""

    def __init__(self) -> None:
        self._starting_s: dict[str, float] = {}
        self._promised: dict[str, _Promise] = {}

    def changed(self) -> None:
        """Forget what was promised, as users have changed something."""
        self._promised.clear()

    def check(self, said: Said, found: Reason | None, refused: Collection[str]) -> None:
        """Compare what is said with a decision on all waiting jobs.

        Args:
            said: what the API says.
            found: the reason of the job in that decision; None if it has none.
            refused: the jobs that SageMaker refuses on each of their alternatives.

        Raises:
            Violated: a decision says otherwise, or the job is said to wait for one that SageMaker refuses.
        """
        if found is None:
            return
        code, message = said.reason["code"], said.reason["message"]
        require(
            (code, message) == (found.code, found.message),
            f"of {said.job} the API says {code}: `{message}`, a decision says {found.code}: `{found.message}`",
        )
        # For a small part of the time one is waited for while it is tried again, and that is said.
        gone = sorted(set(found.jobs) & set(refused)) if code in BEHIND and TRIED_AGAIN not in message else []
        require(not gone, f"{said.job} is told to wait for {gone}, which SageMaker refuses: `{message}`")

    def note(self, plan: Plan, waiting: Collection[str], refused: Collection[str], now_s: float) -> None:
        """Check that what a decision says comes true.

        Args:
            plan: a decision on all waiting jobs that could be made now.
            waiting: the jobs that wait.
            refused: the jobs with a launch that got no instances.

        Raises:
            Violated: a job does not start when it is said to.
        """
        now_ms = now_s * 1000
        starting = {each.job for each in plan.actions if isinstance(each, Start)}
        self._starting_s = {job: self._starting_s.get(job, now_s) for job in starting}
        for job, since_s in self._starting_s.items():
            require(now_s - since_s <= SOON_S, f"{job} starts now, it is said, for {(now_s - since_s) / 60:.0f} min")
        for job, promise in list(self._promised.items()):
            # A job that has come since may have a higher rank.
            if job not in waiting or job in refused or not set(waiting) <= promise.waiting:
                del self._promised[job]
                continue
            late_s = (now_ms - promise.at_ms) / 1000
            require(late_s <= LATE_S, f"{job} was to start by {late_s / 60:.0f} min ago, and nothing has come between")
        for wait in plan.waits:
            if wait.start_by_ms is not None and wait.job not in refused and "; starts by " in wait.sentence:
                self._promised.setdefault(wait.job, _Promise(at_ms=wait.start_by_ms, waiting=frozenset(waiting)))
