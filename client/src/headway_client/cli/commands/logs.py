"""The command logs: what a job's training jobs have written, all attempts and hosts as one."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headway.sanitize import neutralise
from headway_client.cli import grammar
from headway_client.cli.context import connection, wants_json
from headway_client.cli.grammar import Commands
from headway_client.errors import BusyError, NotReachableError, ServerFaultError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.logs.reader import JobLogs, LogEvent

MAX_TAIL_LINES = 100_000
MAX_HOSTS = 10_000
POLL_S = 5.0
"""How often there is a look for more, if there was nothing."""

LAST_LOOKS = 4
"""How often there is a look after the job's end: the last lines come a moment later than the end itself, and a host's
stream is seen up to `log_streams.FRESH_S` after it came into being."""

_pause = time.sleep
_clock = time.monotonic

Show = Callable[[Iterable["LogEvent"]], None]


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("logs", logs, "show what a job's training jobs have written", rows=True)
    grammar.add_name(command)
    command.add_argument("--follow", "-f", action="store_true", help="go on until the job has ended, or Ctrl-C")
    command.add_argument("--host", type=host, metavar="algo-N", help="only of this host")
    command.add_argument(
        "--tail", type=grammar.whole(0, MAX_TAIL_LINES), metavar="N", help="of what there is, only the last N lines"
    )


def host(text: str) -> int:
    """Read a host's name, such as algo-1, and return its number."""
    match = re.fullmatch(r"algo-(\d{1,5})", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= MAX_HOSTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no host such as algo-1")
    return int(match[1])


def logs(args: argparse.Namespace) -> None:
    """Show the logs of a job."""
    from headway_client.http.api import HeadwayApi
    from headway_client.logs.reader import JobLogs

    found = connection(args)
    api = HeadwayApi.connect(found)
    details = api.get_job(args.name)
    reader = JobLogs(found.aws_client("logs"))
    show = _show(args, many_hosts=sum(details.job.demand.values()) > 1)
    # What is there already; of it, the last lines if that is what is asked for.
    there: deque[LogEvent] = deque(maxlen=args.tail)
    any_there = False
    while events := reader.new_events(details):
        any_there = True
        there.extend(_of_host(events, args.host))
        if args.tail is None:
            show(there)
            there.clear()
    show(there)
    if not args.follow:
        if not any_there and not wants_json(args):
            job = details.job
            to_stderr(f"{job.name} has written nothing so far; it is {job.state}: {job.reason.message}")
        return
    try:
        _follow(args, api, reader, show)
    except KeyboardInterrupt:
        # The way to leave, so no failure.
        print()


def _follow(args: argparse.Namespace, api: HeadwayApi, reader: JobLogs, show: Show) -> None:
    from headway_client.botocore_hooks.progress import Progress
    from headway_client.sagemaker_sdk.queued_job import MAX_OUTAGE_S

    progress = Progress(None if wants_json(args) else to_stderr)
    looks_left = LAST_LOOKS
    answered_at = _clock()
    while looks_left:
        try:
            details = api.get_job(args.name)
            events = reader.new_events(details)
            answered_at = _clock()
        except (BusyError, NotReachableError, ServerFaultError) as error:
            if _clock() - answered_at > MAX_OUTAGE_S:
                raise
            to_stderr(f"There is no answer, and it is asked again: {error}")
            _pause(POLL_S)
            continue
        progress.see(details.job)
        show(_of_host(events, args.host))
        if not events:
            looks_left -= details.job.has_ended
            if looks_left:
                _pause(POLL_S)


def _of_host(events: Iterable[LogEvent], number: int | None) -> Iterable[LogEvent]:
    return (event for event in events if number is None or event.host == number)


def _show(args: argparse.Namespace, *, many_hosts: bool) -> Show:
    """Return what prints events as --output asks for."""
    if args.output == "csv":
        import csv

        from headway_client.cli.output.table import as_csv_cell

        writer = csv.writer(sys.stdout)
        writer.writerow(["Time", "Attempt", "Host", "Message"])

        def write(events: Iterable[LogEvent]) -> None:
            rows = ([_time(each), str(each.attempt), f"algo-{each.host}", each.message] for each in events)
            writer.writerows([as_csv_cell(cell) for cell in row] for row in rows)
            sys.stdout.flush()

        return write
    line = {"json": _as_json, "wide": _as_wide}.get(args.output, _with_host if many_hosts and not args.host else _plain)

    def show(events: Iterable[LogEvent]) -> None:
        for event in events:
            print(line(event))
        sys.stdout.flush()

    return show


def _plain(event: LogEvent) -> str:
    return neutralise(event.message)


def _with_host(event: LogEvent) -> str:
    return f"algo-{event.host} | {_plain(event)}"


def _as_wide(event: LogEvent) -> str:
    return f"{_time(event)} {event.attempt} algo-{event.host} | {_plain(event)}"


def _as_json(event: LogEvent) -> str:
    # One object a line: a log has no end that could close a list.
    document = {"time": _time(event), "attempt": event.attempt, "host": f"algo-{event.host}", "message": event.message}
    return json.dumps(document).replace("\x7f", "\\u007f")


def _time(event: LogEvent) -> str:
    at = datetime.fromtimestamp(event.time_ms / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{event.time_ms % 1000:03}Z"
