"""Whether jobs may join their lines, which are bounded: for their team, and for their owner."""

from __future__ import annotations

from headway_service.config.document import Limits
from headway_service.errors import QueueFull
from headway_service.ports.table import Table
from headway_service.store.queue_tail import QueueTail, read_queue_tail
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry, owner_hash


class QueueLimits:
    """What room the lines have for the jobs of one owner that one call brings.

    Each line is read once, when the first of them is about to join it, and those that joined since are added. There
    is no counter that could drift and that all submissions would contend for. So calls at the same moment may together
    pass a limit by as many jobs as they bring.

    Args:
        table: the table.
        limits: the limits in force.
        owner: ARN of whose jobs they are; None for nobody in particular, whom only the limits of teams bind.

    Attributes:
        lines: what was read, by partition.
    """

    def __init__(self, table: Table, limits: Limits, owner: str | None) -> None:
        self._table = table
        self._limits = limits
        self._mark = owner_hash(owner)
        self.lines: dict[str, QueueTail] = {}

    def require(self, job: JobRecord) -> None:
        """Check that each line that a job is about to join has room for it.

        Raises:
            QueueFull: one has not.
        """
        limits = self._limits
        whose = f" of the team {job.team}" if job.team else ""
        for pool in sorted(job.demand):
            found = self._line(QueueEntry.partition(pool, job.team))
            if found.items >= limits.waiting_per_team:
                raise _full(f"{found.items} jobs{whose}", pool, limits.waiting_per_team, "waitingPerTeam")
            if self._mark and found.matching >= limits.waiting_per_owner:
                raise _full(f"{found.matching} of your jobs{whose}", pool, limits.waiting_per_owner, "waitingPerOwner")

    def record(self, job: JobRecord) -> None:
        """A job that was checked has joined its lines."""
        for pool in job.demand:
            self._line(QueueEntry.partition(pool, job.team)).join(job.rank())

    def _line(self, line: str) -> QueueTail:
        if line not in self.lines:
            self.lines[line] = read_queue_tail(self._table, line, self._mark, limit=self._limits.waiting_per_team)
        return self.lines[line]


def _full(who: str, pool: str, limit: int, rule: str) -> QueueFull:
    return QueueFull(
        f"{who} wait for {pool}, and {limit} may (limits.{rule}): try again when some have started, stop some that are "
        "not needed, or have the limit raised"
    )
