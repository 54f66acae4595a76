"""Whether jobs may join their lines, which are bounded: for their team, and for their owner."""

from __future__ import annotations

from headway_service.configuration import Limits
from headway_service.errors import QueueFull
from headway_service.ports import Equals, Table, Tally
from headway_service.records import JobRecord, LineEntry, owner_mark


class Room:
    """What room the lines have for the jobs that one call brings.

    Each line is counted once, when the first of them is about to join it, and those that joined since are added. There
    is no counter that could drift and that all submissions would contend for. So calls at the same moment may together
    pass a limit by as many jobs as they bring.

    Args:
        table: the table.
        limits: the limits in force.
    """

    def __init__(self, table: Table, limits: Limits) -> None:
        self._table = table
        self._limits = limits
        #: By line and owner.
        self._found: dict[tuple[str, str], Tally] = {}

    def require(self, job: JobRecord) -> None:
        """Check that each line that a job is about to join has room for it.

        Raises:
            QueueFull: one has not.
        """
        limits, mark = self._limits, owner_mark(job.owner)
        whose = f" of the team {job.team}" if job.team else ""
        for pool in sorted(job.demand):
            found = self._tally(LineEntry.partition(pool, job.team), mark)
            if found.items >= limits.waiting_per_team:
                raise _full(f"{found.items} jobs{whose}", pool, limits.waiting_per_team, "waitingPerTeam")
            if mark and found.matching >= limits.waiting_per_owner:
                raise _full(f"{found.matching} of your jobs{whose}", pool, limits.waiting_per_owner, "waitingPerOwner")

    def joined(self, job: JobRecord) -> None:
        """A job that was checked has joined its lines."""
        mark = owner_mark(job.owner)
        for pool in job.demand:
            line = LineEntry.partition(pool, job.team)
            found = self._found[line, mark]
            self._found[line, mark] = Tally(items=found.items + 1, matching=found.matching + 1)

    def _tally(self, line: str, mark: str) -> Tally:
        found = self._found.get((line, mark))
        if found is None:
            found = self._table.tally(line, Equals("ownedBy", mark), limit=self._limits.waiting_per_team)
            self._found[line, mark] = found
        return found


def _full(who: str, pool: str, limit: int, rule: str) -> QueueFull:
    return QueueFull(
        f"{who} wait for {pool}, and {limit} may (limits.{rule}): try again when some have started, stop some that are "
        "not needed, or have the limit raised"
    )
