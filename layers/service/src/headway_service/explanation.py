"""Where a job stands and why, as the scheduler would say at this moment.

A hold is not kept with the job: it is worked out when somebody asks. So it is always current, and nothing is
written for jobs that merely go on waiting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from headway import reasons
from headway.model import Snapshot
from headway.ordering import rank_key
from headway.plan import Plan, Start
from headway.policy import Policy
from headway.reasons import Reason
from headway.schedule import schedule
from headway_service.ledger import read_ledger, read_lines, read_snapshot
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
        policy: the rules in force.
    """

    def __init__(self, table: Table, clock: Callable[[], int], policy: Callable[[], Policy]) -> None:
        self._table = table
        self._clock = clock
        self._policy = policy

    def explain(self, jobs: Sequence[JobRecord]) -> list[Seen]:
        """Jobs with their places and the reasons of this moment, in the order given."""
        waiting = [job for job in jobs if job.in_line]
        if not waiting:
            return [Seen(job=job, place=None, reason=job.reason) for job in jobs]
        ledger = read_ledger(self._table)
        snapshot = read_snapshot(
            self._table, ledger, self._clock(), policy=self._policy(), also=waiting, heads=MAX_EXPLAINED
        )
        told = told_by(schedule(snapshot))
        lines = _Lines(self._table, ledger.lines, snapshot)
        # By rank, so that each count goes on where the one before has ended.
        further_back = sorted((job for job in waiting if job.job_name not in told), key=JobRecord.rank)
        told |= {job.job_name: _further_back(lines.place(job)) for job in further_back}
        seen = []
        for job in jobs:
            place: int | None = None
            reason = job.reason
            if job.in_line:
                # A job that the decision did not look at (or that has just been started) is told its place only.
                place, reason = told[job.job_name]
            seen.append(Seen(job=job, place=place, reason=reason))
        return seen

    def place(self, job: JobRecord) -> int | None:
        """The job's place in the longest of its lines, 1 being next; None beyond :data:`MAX_PLACE`.

        The lines of all teams in a pool count as one, in the order of the given priorities.
        """
        return _Lines(self._table, read_lines(self._table)).place(job)


def told_by(plan: Plan) -> dict[str, tuple[int | None, ReasonRecord]]:
    """Place and reason of the jobs that are among the heads of their lines, as a decision tells them."""
    told: dict[str, tuple[int | None, ReasonRecord]] = {}
    ahead: dict[str, int] = {}
    for action in plan.actions:
        if isinstance(action, Start):
            place = 1 + max(ahead.get(pool, 0) for pool in action.demand)
            told[action.job] = (place, ReasonRecord.of(reasons.starts_now(action.demand)))
            for pool in action.demand:
                ahead[pool] = ahead.get(pool, 0) + 1
    for hold in plan.holds:
        # Behind the heads that are read in any case, jobs may be missing from the snapshot.
        if hold.ahead < MAX_EXPLAINED:
            reason = Reason(code=hold.reason.code, message=hold.sentence, jobs=hold.reason.jobs)
            told[hold.job] = (hold.ahead + 1, ReasonRecord.of(reason))
    return told


def _further_back(place: int | None) -> tuple[int | None, ReasonRecord]:
    ahead = place - 1 if place is not None else MAX_PLACE
    return place, ReasonRecord.of(reasons.waits_in_line(ahead, at_least=place is None))


class _Lines:
    """Counts who stands ahead of a job.

    Args:
        table: the table.
        teams: the teams that have lines.
        snapshot: whose heads need not be counted again, if any.
    """

    def __init__(self, table: Table, teams: Sequence[str], snapshot: Snapshot | None = None) -> None:
        self._table = table
        self._teams = teams
        self._read: dict[tuple[str, str], list[str]] | None = None
        #: Of each line the ranks up to which it was counted, ascending, and how many stand before them.
        self._counted: dict[tuple[str, str], list[tuple[str, int]]] = {}
        if snapshot is not None:
            self._read = {(pool, team): [] for pool in snapshot.pools for team in teams}
            for job in snapshot.waiting:
                for pool in job.demand:
                    if (pool, job.team) in self._read:
                        self._read[pool, job.team].append(rank_key(job.priority, job.turn_ms, job.name))
            for line in self._read.values():
                line.sort()

    def place(self, job: JobRecord) -> int | None:
        """The job's place in the longest of its lines; None beyond :data:`MAX_PLACE`."""
        ahead = max(self._ahead(job, pool) for pool in job.demand)
        return ahead + 1 if ahead < MAX_PLACE else None

    def _ahead(self, job: JobRecord, pool: str) -> int:
        ahead = 0
        for team in self._teams:
            if ahead < MAX_PLACE:
                ahead += self._count(pool, team, job.rank(), MAX_PLACE - ahead)
        return ahead

    def _count(self, pool: str, team: str, rank: str, limit: int) -> int:
        read = (self._read or {}).get((pool, team))
        if read is not None and len(read) < MAX_EXPLAINED:
            # So few heads were found because the line has no more.
            return min(limit, bisect_left(read, rank))
        counted = self._counted.setdefault((pool, team), [])
        at = bisect_left(counted, rank, key=itemgetter(0))
        since, before = counted[at - 1] if at else ("", 0)
        if before >= limit:
            return limit
        line = LineEntry.partition(pool, team)
        found = before + self._table.count_before(line, rank, since=since, limit=limit - before)
        if found < limit:
            counted.insert(at, (rank, found))
        return found
