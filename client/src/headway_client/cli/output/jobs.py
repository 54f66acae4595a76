"""Format jobs, unmanaged training jobs, and the details of a job."""

from __future__ import annotations

from collections.abc import Iterable

from headway.sanitize import strip_control_characters
from headway_client.cli.output import values
from headway_client.cli.output.table import NONE, Table
from headway_client.models import Attempt, HistoryEntry, Job, JobDetails, RogueJob


def job_rows(jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool = False) -> Table:
    """Return jobs as a table in the given order.

    Args:
        jobs: the jobs.
        rogues: unmanaged training jobs, which follow the jobs.
        wide: also show place, demand, entry time, team, owner and attempt.
    """
    headers = ["Job Name", "State", "Priority"]
    if wide:
        headers += ["Place", "Demand", "Entered", "Team", "Owner", "Attempt"]
    rows = [_job_row(job, wide=wide) for job in jobs] + [_rogue_row(rogue, wide=wide) for rogue in rogues]
    return Table(headers=[*headers, "Why"], rows=rows)


def jobs_table(
    jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool = False, width: int | None = None
) -> str:
    """Return `job_rows` as lines of text.

    Args:
        jobs: as for `job_rows`.
        rogues: as for `job_rows`.
        wide: as for `job_rows`.
        width: maximum length of a line; None for no limit.
    """
    return job_rows(jobs, rogues, wide=wide).text(width=width)


def history_rows(jobs: Iterable[Job], *, wide: bool = False) -> Table:
    """Return ended jobs with their times and usage as a table in the given order.

    Args:
        jobs: the jobs.
        wide: also show priority, team, owner and the reason of the end.
    """
    headers = ["Job Name", "State", "Entered", "Started", "Ended", "Wait", "Run", "Attempts", "Preemptions"]
    headers += ["Instance Hours"]
    if wide:
        headers += ["Priority", "Team", "Owner", "Why"]
    return Table(headers=headers, rows=[_ended_row(job, wide=wide) for job in jobs])


def job_sheet(details: JobDetails, *, width: int | None = None, colour: bool = False) -> str:
    """Return the details of one job with its attempts and its history.

    Args:
        details: the job.
        width: maximum length of a line; None for no limit.
        colour: color the states.
    """
    job = details.job
    lines = [
        ("Job Name", job.name),
        ("State", _state(job)),
        ("Why", job.reason.message),
        ("Priority", str(job.priority)),
        ("Place", values.optional(job.place)),
        ("Demand", values.demand(job.demand)),
        ("Team", values.optional(job.team)),
        ("Owner", values.optional(job.owner)),
        ("Entered", values.time(job.entry_time)),
        ("Started", values.time(job.started_time)),
        ("Ended", values.time(job.ended_time)),
        ("Preempted", f"{job.preemptions} time{'' if job.preemptions == 1 else 's'}"),
        ("Used", f"{values.instance_hours(job.instance_seconds)} (instance-hours)" if job.instance_seconds else NONE),
    ]
    if details.withheld:
        lines.append(("Withheld", f"{' and '.join(details.withheld)} of the request"))
    parts = ["\n".join(f"{name:<10}{strip_control_characters(value)}" for name, value in lines)]
    if details.attempts:
        headers = ["Attempt", "Training Job", "State", "SageMaker", "Started", "Ended", "Why"]
        rows = [_attempt_row(attempt) for attempt in details.attempts]
        parts.append("Attempts\n" + Table(headers=headers, rows=rows).text(width=width, colour=colour))
    if details.watches:
        rows = [[each.watch, str(each.hosts), values.optional(each.note)] for each in details.watches]
        parts.append("Watches\n" + Table(headers=["Watch", "Hosts", "Not Monitored"], rows=rows).text(width=width))
    if details.history:
        rows = [_step_row(entry) for entry in details.history]
        headers = ["Time", "State", "Training Job", "Why"]
        parts.append("History\n" + Table(headers=headers, rows=rows).text(width=width, colour=colour))
    return "\n\n".join(parts)


def job_sentence(job: Job) -> str:
    """Return one line about the state of a job."""
    place = f", place {job.place} in the queue" if job.place is not None else ""
    return strip_control_characters(f"{job.name} is {job.state} (priority {job.priority}{place}): {job.reason.message}")


def rogue_sentence(rogue: RogueJob) -> str:
    """Return one line about an unmanaged training job, with the operator who requested its stop."""
    asked = f", to be stopped for {rogue.stop_asked_by}" if rogue.stop_asked_by else ""
    return strip_control_characters(f"{rogue.name} is rogue ({rogue.status}{asked}): {rogue.reason.message}")


def _state(job: Job) -> str:
    return f"{job.state} (held)" if job.held else job.state


def _job_row(job: Job, *, wide: bool) -> list[str]:
    row = [job.name, "held" if job.held else job.state, str(job.priority)]
    if wide:
        row += [
            values.optional(job.place),
            values.demand(job.demand),
            values.time(job.entry_time),
            values.optional(job.team),
            values.optional(job.owner),
            values.optional(job.live_attempt),
        ]
    return [*row, job.reason.message]


def _rogue_row(rogue: RogueJob, *, wide: bool) -> list[str]:
    row = [rogue.name, "rogue", NONE]
    if wide:
        row += [
            NONE,
            values.demand(rogue.demand),
            values.time(rogue.created_time),
            values.optional(rogue.team),
            NONE,
            rogue.name,
        ]
    return [*row, rogue.reason.message]


def _ended_row(job: Job, *, wide: bool) -> list[str]:
    row = [
        job.name,
        job.state,
        *(values.time(each) for each in (job.entry_time, job.started_time, job.ended_time)),
        values.duration(job.entry_time, job.started_time or job.ended_time),
        values.duration(job.started_time, job.ended_time),
        str(job.attempt_count),
        str(job.preemptions),
        values.instance_hours(job.instance_seconds),
    ]
    if wide:
        row += [str(job.priority), values.optional(job.team), values.optional(job.owner), job.reason.message]
    return row


def _attempt_row(attempt: Attempt) -> list[str]:
    why = [attempt.reason.message if attempt.reason else None, attempt.failure_reason]
    seen = " / ".join(dict.fromkeys(part for part in (attempt.status, attempt.secondary_status) if part))
    return [
        str(attempt.number),
        attempt.name,
        attempt.state,
        seen or NONE,
        values.time(attempt.started_time),
        values.time(attempt.ended_time),
        " ".join(part for part in why if part) or NONE,
    ]


def _step_row(entry: HistoryEntry) -> list[str]:
    return [values.time(entry.time), entry.state, values.optional(entry.attempt_name), entry.reason.message]
