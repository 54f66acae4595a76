"""The columns of lists of jobs: their names for ``--columns`` and ``--sort``, headers and cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.durations import in_words
from headway_client.cli.output import column, times, values
from headway_client.cli.output.arrays.details import ended_members
from headway_client.cli.output.column import Column
from headway_client.cli.output.table import NONE, Figure, Table
from headway_client.job_sentences import short_why, why
from headway_client.job_states import WAITING_STATES
from headway_client.models import Job, RogueJob


def elapsed_s(job: Job) -> int | None:
    """Return for how long a job that has its first attempt runs, or has run; None if that is not known."""
    # A list does not have the start of a later attempt. A preempted job does not run, nor does an array.
    if job.attempt_count > 1 or job.state in WAITING_STATES or job.array is not None:
        return None
    return times.between(job.started_time, job.ended_time) if job.has_ended else times.since(job.started_time)


def elapsed(job: Job) -> str:
    """Return the elapsed time of a job, of its limit."""
    limit = f" of {in_words(job.run_limit_seconds * 1000)}" if job.run_limit_seconds is not None else ""
    seconds = elapsed_s(job)
    return NONE if seconds is None else Figure(times.length(seconds) + limit, seconds)


def _state(job: Job) -> str:
    return "held" if job.held else job.state


def _limit(job: Job) -> str:
    seconds = job.run_limit_seconds
    return NONE if seconds is None else Figure(in_words(seconds * 1000), seconds)


def _owner() -> Column[Job]:
    return Column(header="Owner", cell=lambda job: values.owner(job.owner), key=lambda job: job.owner)


def _short_why(job: Job) -> str:
    return Figure(short_why(job) or NONE, why(job))


def _columns(*, wide: bool) -> dict[str, Column[Job]]:
    return {
        "name": column.text("Job Name", lambda job: job.name),
        "state": column.text("State", _state),
        "priority": column.count(values.PRIORITY, lambda job: job.priority),
        "place": column.count("Place", lambda job: job.place),
        "demand": Column(
            header="Demand",
            cell=lambda job: values.demand(job.demand),
            key=lambda job: sum(job.demand.values()),
        ),
        "otherwise": column.text("Otherwise", lambda job: values.other_choices(job.choices, job.alternative)),
        "after": column.text("After", lambda job: values.awaited(job.depends_on)),
        # The members of an array have the instances, and rows of their own.
        "instances": column.count("Instances", lambda job: None if job.array else sum(job.demand.values())),
        "age": column.duration("Age", lambda job: times.since(job.entry_time)),
        "elapsed": Column(header=Figure("Elapsed", "Elapsed (s)"), cell=elapsed, key=elapsed_s),
        "limit": Column(header=Figure("Limit", "Limit (s)"), cell=_limit, key=lambda job: job.run_limit_seconds),
        "entered": column.time("Entered", lambda job: job.entry_time, wide=wide),
        "started": column.time("Started", lambda job: job.started_time, wide=wide),
        "ended": column.time("Ended", lambda job: job.ended_time, wide=wide),
        "wait": column.duration("Wait", lambda job: times.between(job.entry_time, job.started_time or job.ended_time)),
        "run": column.duration("Run", lambda job: times.between(job.started_time, job.ended_time)),
        "attempts": column.count("Attempts", lambda job: job.attempt_count),
        "preemptions": column.count("Preemptions", lambda job: job.preemptions),
        "hours": Column(
            header=Figure("Hours", "Instance Hours"),
            cell=lambda job: values.total_hours(job.instance_seconds),
            key=lambda job: sum(job.instance_seconds.values()),
        ),
        "usage": Column(
            header="Hours by Pool",
            cell=lambda job: values.instance_hours(job.instance_seconds),
            key=lambda job: sum(job.instance_seconds.values()),
        ),
        "team": column.text("Team", lambda job: job.team),
        "owner": column.text("Owner", lambda job: job.owner) if wide else _owner(),
        "attempt": column.text("Attempt", lambda job: job.live_attempt),
        "members": Column(
            header="Members",
            cell=lambda job: f"{ended_members(job.array)} of {job.array.count}" if job.array else NONE,
            key=lambda job: ended_members(job.array) / job.array.count if job.array else None,
        ),
        "comment": column.text("Comment", lambda job: job.comment),
        "why": Column(header="Why", cell=why if wide else _short_why, key=why),
    }


QUEUE = ("name", "state", "priority", "owner", "demand", "age", "why")
QUEUE_WIDE = (
    *("name", "state", "priority", "place", "demand", "instances", "age", "elapsed", "limit", "entered", "team"),
    *("owner", "attempt", "why"),
)
HISTORY = ("name", "state", "ended", "wait", "run", "attempts", "hours")
HISTORY_WIDE = (
    *("name", "state", "entered", "started", "ended", "wait", "run", "attempts", "preemptions", "hours", "usage"),
    *("priority", "team", "owner", "why"),
)


def job_table(names: Sequence[str], jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool) -> Table:
    """Return jobs as a table in the given order.

    Args:
        names: the columns.
        rogues: rogue training jobs, which follow the jobs.
        wide: write times in full.
    """
    columns = _columns(wide=wide)
    shown = [columns[name] for name in names]
    rows = [[each.cell(job) for each in shown] for job in jobs]
    for rogue in rogues:
        cells = _rogue_cells(rogue, wide=wide)
        rows.append([cells.get(name, NONE) for name in names])
    return Table(headers=[each.header for each in shown], rows=rows)


def sorted_jobs(jobs: Sequence[Job], order: Sequence[str]) -> list[Job]:
    """Return jobs sorted by columns; jobs without a value come last.

    Args:
        order: the columns, the first decides first; a leading minus sorts in descending order.
    """
    return column.sorted_by(jobs, _columns(wide=False), order)


def _rogue_cells(rogue: RogueJob, *, wide: bool) -> dict[str, str]:
    return {
        "name": rogue.name,
        "state": "rogue",
        "demand": values.demand(rogue.demand),
        "instances": str(sum(rogue.demand.values())),
        "age": times.duration(times.since(rogue.created_time)),
        "entered": times.moment(rogue.created_time, wide=wide),
        "team": values.optional(rogue.team),
        "attempt": rogue.name,
        "why": rogue.reason.message,
    }
