"""Format the jobs that a job depends on, and those that depend on it, as an indented list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from headway_client.cli.output.table import NONE, Table
from headway_client.models import JobDetails

MAX_GRAPH_JOBS = 50
"""Maximum number of other jobs that are read for the graph of one job."""

Find = Callable[[str], JobDetails | None]
"""Returns the job of a name; None if the queue no longer has it."""


@dataclass
class _Reader:
    """Reads each job once, up to a limit."""

    find: Find
    known: dict[str, JobDetails | None] = field(default_factory=dict)

    def get(self, name: str) -> JobDetails | None:
        if name not in self.known:
            if len(self.known) >= MAX_GRAPH_JOBS:
                return None
            self.known[name] = self.find(name)
        return self.known[name]


def dependency_tables(details: JobDetails, find: Find, *, width: int | None = None, colour: bool = False) -> list[str]:
    """Return the jobs that a job depends on, and those that depend on it, directly or not; empty if there are none.

    A job that was listed before is not followed again.

    Args:
        details: the job.
        find: reads another job.
        width: maximum length of a line; None for no limit.
        colour: color the states.
    """
    reader = _Reader(find)
    headers = ["Job Name", "Condition", "State"]
    sides = {
        "Depends On": list(_before(details, reader, set(), 0)),
        "Dependants": list(_after(details, reader, set(), 0)),
    }
    return [
        f"{title}\n" + Table(headers=headers, rows=rows).text(width=width, colour=colour)
        for title, rows in sides.items()
        if rows
    ]


def _before(details: JobDetails, reader: _Reader, seen: set[str], depth: int) -> Iterator[list[str]]:
    for each in details.depends_on:
        yield from _row(each.job, each.condition, reader, seen, depth, _before)


def _after(details: JobDetails, reader: _Reader, seen: set[str], depth: int) -> Iterator[list[str]]:
    for name in details.dependants:
        other = reader.get(name)
        conditions = (each.condition for each in other.depends_on if each.job == details.name) if other else ()
        yield from _row(name, next(iter(conditions), NONE), reader, seen, depth, _after)


def _row(
    name: str,
    condition: str,
    reader: _Reader,
    seen: set[str],
    depth: int,
    follow: Callable[[JobDetails, _Reader, set[str], int], Iterable[list[str]]],
) -> Iterator[list[str]]:
    other = reader.get(name)
    # Not spaces, which the table would strip.
    yield ["| " * depth + name, condition, other.state if other else NONE]
    if other is not None and name not in seen:
        seen.add(name)
        yield from follow(other, reader, seen, depth + 1)
