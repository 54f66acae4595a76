"""The command events: what has happened in the queue, and what happens."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from headway.reasons import ReasonCode
from headway.sanitize import strip_control_characters
from headway_client.cli.arguments.moments import METAVAR, Given, Moment, time_text
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import document_text, open_api, width
from headway_client.cli.interruption import UNCHANGED, if_interrupted
from headway_client.cli.job_names import JOB_NAME
from headway_client.http.outage import NO_RESPONSE, Outage
from headway_client.text import to_stderr, width_of, wrapped

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import FeedEvent

DEFAULT_SINCE_S = 3600
"""How far back `headway events` goes by default, s."""

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 10.0
"""The longest pause between two requests while nothing happens, s; each pause is twice as long as the one before."""

_INDENT = "    "
"""What the lines of a message begin with that has no room beside the job."""

_pause = time.sleep
_clock = time.monotonic

Show = Callable[[Iterable["FeedEvent"]], None]


@click.command("events", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--follow", "-f", is_flag=True, help="Continue with new events until Ctrl-C.")
@click.option(
    "--since",
    type=Moment(),
    metavar=METAVAR,
    help="Only events since 2026-11-25, 2026-11-25T08:00Z, or of the last 36h. Default: 1h, or only new events with "
    "--follow.",
)
@click.option("--after", metavar="CURSOR", help="Only events after this cursor, which was printed before.")
@click.option("--job", metavar="NAME", type=JOB_NAME, help="Only events of this job.")
@click.option("--team", metavar="NAME", help="Only events of jobs of this team.")
@click.option(
    "--type",
    "codes",
    multiple=True,
    type=click.Choice([code.value for code in ReasonCode]),
    metavar="CODE",
    help="Only events with this reason, such as Preempted; repeatable.",
)
@pass_common
def events(
    common: CommonOptions,
    since: Given | None,
    after: str | None,
    codes: Sequence[str],
    *,
    follow: bool,
    **filters: str | None,
) -> None:
    """Show the events of the last hour; up to 7 days with --since."""
    api = open_api(common)
    show = _show(common)
    wanted: dict[str, Any] = {"codes": codes, **filters, "since": _since(api, since, after, follow=follow)}
    reader = _Reader(api, wanted, after)
    with if_interrupted(lambda: reader.resumption(default=UNCHANGED)):
        if follow:
            _follow(reader, show)
        while reader.more:
            reader.show_next(show)
    if not common.is_document:
        to_stderr(reader.resumption(default=""))


class _Reader:
    """Reads the feed, page by page.

    Args:
        api: the queue.
        wanted: the filters.
        cursor: where to begin; None for the first event that matches.

    Attributes:
        more: whether there may be further events now.
    """

    def __init__(self, api: HeadwayApi, wanted: dict[str, Any], cursor: str | None) -> None:
        self._api = api
        self._wanted = wanted
        self._cursor = cursor
        self.more = True

    def show_next(self, show: Show) -> bool:
        """Show the next page, and return whether it has events."""
        page = self._api.events(after=self._cursor, **self._wanted)
        if page.missed:
            to_stderr(f"Events after {self._cursor} may have expired, as they are kept for 7 days only.")
        show(page.events)
        # After an interrupt in between, some events are shown again, and none is missing.
        self._cursor, self.more = page.cursor, page.more
        return bool(page.events)

    def resumption(self, *, default: str) -> str:
        """Return how to continue.

        Args:
            default: what is true if nothing was read.
        """
        return default if self._cursor is None else f"`headway events --after {self._cursor}` continues."


def _follow(reader: _Reader, show: Show) -> None:
    pause_s = FIRST_PAUSE_S
    outage = Outage(_clock)
    while True:
        try:
            has_events = reader.show_next(show)
            outage.over()
        except NO_RESPONSE as error:
            outage.tolerate(error)
            to_stderr(f"There is no response; retrying: {error}")
            _pause(MAX_PAUSE_S)
            continue
        if has_events:
            pause_s = FIRST_PAUSE_S
        if not reader.more:
            _pause(pause_s)
            pause_s = min(MAX_PAUSE_S, 2 * pause_s)


def _since(api: HeadwayApi, since: Given | None, after: str | None, *, follow: bool) -> str | None:
    """Return the time of --since, or its default."""
    if since is None:
        if after is not None:
            return None
        since = timedelta(seconds=0 if follow else DEFAULT_SINCE_S)
    return time_text(api, since)


def _show(common: CommonOptions) -> Show:
    """Return the function that prints events in the format of --output."""
    if common.output == "csv":
        import csv

        from headway_client.cli.output.table import as_csv_cell

        writer = csv.writer(sys.stdout)
        if common.headers:
            writer.writerow(["Time", "Job", "Code", "State", "Team", "Owner", "Message", "Cursor"])

        def write(found: Iterable[FeedEvent]) -> None:
            names = ("time", "jobName", "code", "jobState", "team", "owner", "message")
            for each in found:
                cells = _texts(_named(each), *names)
                writer.writerow([as_csv_cell(cell) for cell in (*cells, each.cursor)])
            sys.stdout.flush()

        return write
    plain = partial(_plain, width=width(common))
    line = {"json": _as_json, "yaml": _as_yaml, "wide": _as_wide}.get(common.output, plain)

    def show(found: Iterable[FeedEvent]) -> None:
        for each in found:
            print(line(each))
        sys.stdout.flush()

    return show


def _named(event: FeedEvent) -> dict[str, Any]:
    """Return the detail; that of a rogue training job has its name and status as those of a job."""
    detail = event.detail
    own = {"jobName": detail.get("trainingJobName"), "jobState": detail.get("trainingJobStatus")}
    return {**own, **detail}


def _texts(detail: dict[str, Any], *names: str) -> list[str]:
    return [_text(detail, name) for name in names]


def _text(detail: dict[str, Any], name: str) -> str:
    value = detail.get(name)
    return "" if value is None else str(value)


def _plain(event: FeedEvent, *, width: int | None = None) -> str:
    """Return an event as a line, or where it has no room with its message on lines below."""
    from headway_client.cli.output import times

    detail = _named(event)
    head = strip_control_characters(" ".join([times.local(detail.get("time")), *_texts(detail, "jobName", "code")]))
    message = strip_control_characters(_text(detail, "message"))
    line = f"{head} {message}"
    if width is None or width_of(line) <= width:
        return line
    return "\n".join([head, *(_INDENT + part for part in wrapped(message, max(width - len(_INDENT), 1)))])


def _as_wide(event: FeedEvent) -> str:
    detail = _named(event)
    more = [f"{name}={_text(detail, name)}" for name in ("jobState", "team", "owner") if detail.get(name)]
    return strip_control_characters(" ".join([_plain(event), *more, f"cursor={event.cursor}"]))


def _as_json(event: FeedEvent) -> str:
    # One object per line, as a followed feed has no end at which to close a list.
    return json.dumps(event.document).replace("\x7f", "\\u007f")


def _as_yaml(event: FeedEvent) -> str:
    return document_text("yaml", event.document)
