"""A plan with what it was made from, and whether its actions are still what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headway.model import WaitingJob
from headway.plan import Action, Plan, Release, Start
from headway.scheduling.alternatives import chosen
from headway.scheduling.backfill.size_changes import crosses
from headway_service.errors import Conflict
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import CalendarRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A plan with the state that it was made from."""

    plan: Plan
    #: As it was read, with what the actions carried out since have changed in it that others are conditional on.
    ledger: Ledger
    #: The jobs that waited when the plan was made, by name.
    waiting: Mapping[str, WaitingJob]
    #: The time that it was made for, ms; None if its starts do not depend on it.
    decided_ms: int | None = None

    def after(self, action: Action, attempt: AttemptRecord | None) -> Decision:
        """The decision for the actions that follow one that was written.

        Args:
            action: that one.
            attempt: the attempt that it is about, if there is one.
        """
        match action:
            case Release():
                # The same plan may start the job that lost its reservation, on other instances.
                return replace(self, ledger=self.ledger.without_reservation(action.job))
            case Start() if attempt is not None:
                return replace(self, ledger=self.ledger.after_start(attempt))
            case _:
                return self

    def require_start(
        self, attempt: AttemptRecord, action: Start, calendars: Iterable[CalendarRecord], now_ms: int
    ) -> None:
        """Check that a start, with its job as it is now, is what was decided.

        Args:
            attempt: the next attempt of the job.
            action: the start.
            calendars: the calendars of its pools.
            now_ms: the training time, ms.

        Raises:
            Conflict: the request was changed since, the job can no longer run on that alternative, or so much time has
                passed that it would run into another change of a pool's size.
        """
        _require_unchanged(attempt, chosen(self.waiting[attempt.job_name], action.demand))
        if attempt.limit_ms is None or self.decided_ms is None:
            return
        by_pool = {each.pool: each.calendar(self.decided_ms) for each in calendars}
        due_ms, end_ms = self.decided_ms + attempt.limit_ms, now_ms + attempt.limit_ms
        if crosses(by_pool, attempt.demand, due_ms, end_ms, stops_for_size=attempt.stops_for_size):
            raise Conflict.stale()


def _require_unchanged(attempt: AttemptRecord, decided: WaitingJob) -> None:
    asked = (attempt.demand, attempt.team, attempt.limit_ms, attempt.warm_key)
    if asked != (dict(decided.demand), decided.terms.team, decided.terms.limit_ms, decided.terms.warm_key):
        raise Conflict.stale()
