"""The figures of a job that are not the queue's: utilization over time, and the last lines of its log."""

from __future__ import annotations

from dataclasses import dataclass

from headway.sanitize import strip_control_characters
from headway_client.job_figures.curves import Curves
from headway_client.logs.reader import LogEvent

MAX_LINE_CHARS = 500
"""Characters of a line of a log that are shown."""


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line of a log.

    Attributes:
        host: the number of the host.
        time_ms: when, in milliseconds since 1970.
        text: the line, safe to show, and cut to `MAX_LINE_CHARS` of its characters.
    """

    host: int
    time_ms: int
    text: str

    @classmethod
    def of(cls, event: LogEvent) -> LogLine:
        """Return the line of an event."""
        cut = event.message[:MAX_LINE_CHARS] + ("…" if len(event.message) > MAX_LINE_CHARS else "")
        return cls(host=event.host, time_ms=event.time_ms, text=strip_control_characters(cut))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is known of the newest attempt of a job.

    Attributes:
        attempt: the attempt; None if none was started.
        curves: its utilization; None if it is not known.
        lines: the last lines of its log.
        notes: what is missing and why, a sentence each.
    """

    attempt: str | None = None
    curves: Curves | None = None
    lines: tuple[LogLine, ...] = ()
    notes: tuple[str, ...] = ()
