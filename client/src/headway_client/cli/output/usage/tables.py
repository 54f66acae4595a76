"""Format ended jobs with what they used, and sums of usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway_client.cli.output import times, values
from headway_client.cli.output.table import Figure, Table
from headway_client.models import EndedJob, Usage, UsageSum

_SECONDS_PER_HOUR = 3600


def ended_job_rows(jobs: Iterable[EndedJob], *, wide: bool = False) -> Table:
    """Return ended jobs as a table.

    Args:
        jobs: the jobs.
        wide: more columns, and times in full.
    """
    headers = ["Job Name", "State", "Ended", *map(_duration_header, ("Wait", "Run")), "Attempts", "Preemptions"]
    headers += [_hours_header("Hours"), _hours_header("Lost")]
    if wide:
        headers += ["Hours by Pool", "Billed Hours by Pool", "Entered", "Started", "Priority", "Team", "Owner"]
    return Table(headers=headers, rows=[_ended_row(job, wide=wide) for job in jobs])


def _ended_row(job: EndedJob, *, wide: bool) -> list[str]:
    row = [
        *(job.name, job.state, times.moment(job.ended_time, wide=wide)),
        *(times.duration(job.wait_seconds), times.duration(job.run_seconds)),
        *(str(job.attempt_count), str(job.preemptions), values.total_hours(job.used_seconds)),
        hours(job.lost_seconds),
    ]
    if wide:
        row += [
            *(values.instance_hours(job.used_seconds), values.instance_hours(job.billed_seconds)),
            *(times.moment(job.entry_time, wide=True), times.moment(job.started_time, wide=True)),
            *(str(job.priority), values.optional(job.team), values.optional(job.owner)),
        ]
    return row


def usage_rows(usage: Usage, *, wide: bool = False) -> Table:
    """Return sums of usage as a table.

    Args:
        usage: the sums.
        wide: more columns.
    """
    periods = usage.step != "total"
    headers = [*(["Period"] if periods else []), title(usage.by), "Jobs", "Attempts", "Preemptions"]
    headers += [_hours_header("Hours"), _hours_header("Lost"), *map(_duration_header, ("Wait p50", "Wait p90"))]
    if wide:
        headers += [*map(_duration_header, ("Run p50", "Run p90")), "Completed", "Failed", "Stopped", "Reused"]
        headers += ["Hours by Pool", "Lost Hours by Pool", "Billed Hours by Pool", "Unbilled Hours by Pool"]
    return Table(headers=headers, rows=[_usage_row(row, periods=periods, wide=wide) for row in usage.rows])


def _usage_row(row: UsageSum, *, periods: bool, wide: bool) -> list[str]:
    cells = [
        *([values.optional(row.period)] if periods else []),
        *(values.optional(row.name), str(sum(row.jobs.values())), str(row.attempts), str(row.preemptions)),
        *(_total(row.used_seconds), _total(row.lost_seconds)),
        *(times.duration(row.wait.p50_seconds), times.duration(row.wait.p90_seconds)),
    ]
    if wide:
        cells += [
            *(times.duration(row.run.p50_seconds), times.duration(row.run.p90_seconds)),
            *(str(row.jobs.get(state, 0)) for state in ("completed", "failed", "stopped")),
            str(row.reused),
            *map(
                values.instance_hours,
                (row.used_seconds, row.lost_seconds, row.billed_seconds, row.unbilled_seconds),
            ),
        ]
    return cells


def title(by: str) -> str:
    """Return the header of the names of sums."""
    return by.removeprefix("tag:") if by.startswith("tag:") else by.capitalize()


def hours(seconds: float) -> str:
    """Return instance-seconds as hours, with two digits."""
    return f"{seconds / _SECONDS_PER_HOUR:.2f}"


def _total(seconds: Mapping[str, int]) -> str:
    return hours(sum(seconds.values()))


def _hours_header(header: str) -> str:
    return Figure(header, "Instance Hours" if header == "Hours" else f"{header} Instance Hours")


def _duration_header(header: str) -> str:
    return Figure(header, f"{header} (s)")
