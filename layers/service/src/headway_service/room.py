"""Whether a job may join its lines, which are bounded: for its team, and for its owner."""

from __future__ import annotations

from headway_service.configuration import Limits
from headway_service.errors import QueueFull
from headway_service.ports import Equals, Table
from headway_service.records import JobRecord, LineEntry, owner_mark


def require_room(table: Table, job: JobRecord, limits: Limits) -> None:
    """Check that each line that a job is about to join has room for it.

    The lines are counted as they are now, without a counter that could drift and that all submissions would contend
    for. So jobs that join at the same moment may together pass a limit by as many as they are.

    Raises:
        QueueFull: one has not.
    """
    mark = owner_mark(job.owner)
    for pool in sorted(job.demand):
        line = LineEntry.partition(pool, job.team)
        found = table.tally(line, Equals("ownedBy", mark), limit=limits.waiting_per_team)
        whose = f" of the team {job.team}" if job.team else ""
        if found.items >= limits.waiting_per_team:
            raise _full(f"{found.items} jobs{whose}", pool, limits.waiting_per_team, "waitingPerTeam")
        if mark and found.matching >= limits.waiting_per_owner:
            raise _full(f"{found.matching} of your jobs{whose}", pool, limits.waiting_per_owner, "waitingPerOwner")


def _full(who: str, pool: str, limit: int, rule: str) -> QueueFull:
    return QueueFull(
        f"{who} wait for {pool}, and {limit} may (limits.{rule}): try again when some have started, stop some that are "
        "not needed, or have the limit raised"
    )
