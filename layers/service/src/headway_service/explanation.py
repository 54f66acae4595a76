"""Where a job stands and why, as the scheduler would say at this moment.

A hold is not kept with the job: it is worked out when somebody asks. So it is always current, and nothing is
written for jobs that merely go on waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway import reasons
from headway.lifecycle import WAITING
from headway.model import Snapshot
from headway.plan import Start
from headway.schedule import schedule
from headway_service.ledger import read_ledger, read_snapshot
from headway_service.ports import Table
from headway_service.records import JobRecord, LineEntry, ReasonRecord

MAX_PLACE = 1000
"""A place in line is counted to this; of a job further back only that is told."""

MAX_EXPLAINED = 100
"""Heads of each line that are explained one by one; a job further back is told how many are ahead of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A job as a caller sees it: its record, its place in line, and why it is where it is now."""

    job: JobRecord
    place: int | None
    reason: ReasonRecord


class Explainer:
    """Explains jobs.

    Args:
        table: the table.
        clock: now, ms.
    """

    def __init__(self, table: Table, clock: Callable[[], int]) -> None:
        self._table = table
        self._clock = clock

    def explain(self, jobs: Sequence[JobRecord]) -> list[Seen]:
        """Jobs with their places and the reasons of this moment, in the order given."""
        waiting = [job for job in jobs if job.job_state in WAITING]
        if not waiting:
            return [Seen(job=job, place=None, reason=job.reason) for job in jobs]
        ledger = read_ledger(self._table)
        snapshot = read_snapshot(self._table, ledger, self._clock(), also=waiting, heads=MAX_EXPLAINED)
        plan = schedule(snapshot)
        told = {hold.job: hold.reason for hold in plan.holds}
        told |= {action.job: reasons.starts_now(action.demand) for action in plan.actions if isinstance(action, Start)}
        places = _places(snapshot, MAX_EXPLAINED)
        seen = []
        for job in jobs:
            if job.job_state not in WAITING:
                seen.append(Seen(job=job, place=None, reason=job.reason))
                continue
            place: int | None
            if job.job_name in places:
                place, reason = places[job.job_name], ReasonRecord.of(told[job.job_name])
            else:
                place, reason = self._further_back(job)
            seen.append(Seen(job=job, place=place, reason=reason))
        return seen

    def _further_back(self, job: JobRecord) -> tuple[int | None, ReasonRecord]:
        """Place and reason of a job that is not among the heads (or has just been started)."""
        place = self.place(job)
        ahead = place - 1 if place is not None else MAX_PLACE
        return place, ReasonRecord.of(reasons.waits_in_line(ahead, at_least=place is None))

    def place(self, job: JobRecord) -> int | None:
        """The job's place in the longest of its lines, 1 being next; None beyond :data:`MAX_PLACE`."""
        ahead = max(
            self._table.count_before(LineEntry.partition(pool), job.rank(), limit=MAX_PLACE) for pool in job.demand
        )
        return ahead + 1 if ahead < MAX_PLACE else None


def _places(snapshot: Snapshot, heads: int) -> dict[str, int]:
    """Places of the jobs that stand among the heads of all their lines."""
    ahead: dict[str, int] = {}
    places: dict[str, int] = {}
    for job in snapshot.waiting:
        place = 1 + max(ahead.get(pool, 0) for pool in job.demand)
        if place <= heads:
            places[job.name] = place
        for pool in job.demand:
            ahead[pool] = ahead.get(pool, 0) + 1
    return places
