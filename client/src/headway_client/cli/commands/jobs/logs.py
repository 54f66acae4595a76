"""The command logs: the logs of all attempts and hosts of a job as one."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.arguments.params import WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import connection, document_text
from headway_client.cli.hosts import Host, require_host
from headway_client.cli.interruption import UNCHANGED, if_interrupted
from headway_client.cli.job_names import job_name
from headway_client.http.outage import NO_RESPONSE, Outage
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.botocore_hooks.progress import Progress
    from headway_client.http.api import HeadwayApi
    from headway_client.logs.reader import JobLogs, LogEvent

MAX_TAIL_LINES = 100_000
POLL_S = 5.0
"""The polling interval when there are no new lines."""

LAST_POLLS = 4
"""Number of polls after the job's end: the last lines arrive shortly after the end itself, and a new stream is found up
to `headway_client.logs.streams.FRESH_S` after its creation."""

_pause = time.sleep
_clock = time.monotonic

Show = Callable[[Iterable["LogEvent"]], None]


@click.command("logs", cls=Command, rows=True, interrupted=UNCHANGED)
@job_name
@click.option("--follow", "-f", is_flag=True, help="Continue until the job has ended, or until Ctrl-C.")
@click.option("--host", type=Host(), metavar="algo-N", help="Only the lines of this host.")
@click.option(
    "--tail", type=WholeNumber(0, MAX_TAIL_LINES), metavar="N", help="Only the last N of the lines that exist already."
)
@pass_common
def logs(common: CommonOptions, name: str, host: int | None, tail: int | None, *, follow: bool) -> None:
    """Show the logs of a job: all attempts and hosts as one."""
    from headway_client.botocore_hooks.progress import Progress
    from headway_client.http.api import HeadwayApi
    from headway_client.logs.reader import JobLogs

    found = connection(common)
    api = HeadwayApi.connect(found)
    details = api.get_job(name)
    if host is not None:
        require_host(details.job, host)
    reader = JobLogs(found.aws_client("logs"), now_s=api.now_s)
    show = _show(common, name_hosts=host is None and sum(details.job.demand.values()) > 1)
    # The existing lines, or the last ones of them with --tail.
    existing: deque[LogEvent] = deque(maxlen=tail)
    is_empty = True
    while events := reader.new_events(details):
        is_empty = False
        existing.extend(_of_host(events, host))
        if tail is None:
            show(existing)
            existing.clear()
    show(existing)
    if not follow:
        if is_empty and not common.is_document:
            job = details.job
            to_stderr(f"{job.name} has no logs yet; it is {job.state}: {job.reason.message}")
        return
    progress = Progress(None if common.is_document else to_stderr)
    with if_interrupted(f"the job continues; `headway logs --follow {name}` shows its logs again."):
        _follow(api, name, reader, progress, lambda events: show(_of_host(events, host)))


def _follow(api: HeadwayApi, name: str, reader: JobLogs, progress: Progress, show: Show) -> None:
    polls_left = LAST_POLLS
    outage = Outage(_clock)
    while polls_left:
        try:
            details = api.get_job(name)
            events = reader.new_events(details)
            outage.over()
        except NO_RESPONSE as error:
            outage.tolerate(error)
            to_stderr(f"There is no response; retrying: {error}")
            _pause(POLL_S)
            continue
        progress.update(details.job)
        show(events)
        if not events:
            polls_left -= details.job.has_ended
            if polls_left:
                _pause(POLL_S)


def _of_host(events: Iterable[LogEvent], number: int | None) -> Iterable[LogEvent]:
    return (event for event in events if number is None or event.host == number)


def _show(common: CommonOptions, *, name_hosts: bool) -> Show:
    """Return the function that prints events in the format of --output."""
    if common.output == "csv":
        import csv

        from headway_client.cli.output.table import as_csv_cell

        writer = csv.writer(sys.stdout)
        if common.headers:
            writer.writerow(["Time", "Attempt", "Host", "Message"])

        def write(events: Iterable[LogEvent]) -> None:
            rows = ([_time(each), str(each.attempt), f"algo-{each.host}", each.message] for each in events)
            writer.writerows([as_csv_cell(cell) for cell in row] for row in rows)
            sys.stdout.flush()

        return write
    plain = _with_host if name_hosts else _plain
    line = {"json": _as_json, "yaml": _as_yaml, "wide": _as_wide}.get(common.output, plain)

    def show(events: Iterable[LogEvent]) -> None:
        for event in events:
            print(line(event))
        sys.stdout.flush()

    return show


def _plain(event: LogEvent) -> str:
    return strip_control_characters(event.message)


def _with_host(event: LogEvent) -> str:
    return f"algo-{event.host} | {_plain(event)}"


def _as_wide(event: LogEvent) -> str:
    return f"{_time(event)} {event.attempt} algo-{event.host} | {_plain(event)}"


def _as_json(event: LogEvent) -> str:
    # One object per line, as a followed log has no end at which to close a list.
    return json.dumps(_document(event)).replace("\x7f", "\\u007f")


def _as_yaml(event: LogEvent) -> str:
    return document_text("yaml", _document(event))


def _document(event: LogEvent) -> dict[str, object]:
    return {"time": _time(event), "attempt": event.attempt, "host": f"algo-{event.host}", "message": event.message}


def _time(event: LogEvent) -> str:
    at = datetime.fromtimestamp(event.time_ms / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{event.time_ms % 1000:03}Z"
