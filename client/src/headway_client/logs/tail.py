"""Read the last lines of an attempt's log in a few calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headway_client.logs.aws_errors import as_own_errors
from headway_client.logs.reader import LOG_GROUP, LogEvent, LogsClient
from headway_client.logs.streams import LogStream, LogStreams
from headway_client.models import Attempt

MAX_TAIL_LINES = 100
"""Maximum number of lines of a tail."""

MAX_TAIL_HOSTS = 4
"""Maximum number of hosts whose lines a tail has."""

MAX_TAIL_CALLS = 6
"""Maximum number of calls of one tail: a page of streams, a page of events of each host, and one more."""


def read_tail(client: LogsClient, attempt: Attempt, *, now_s: Callable[[], float]) -> list[LogEvent]:
    """Return the last lines of an attempt, in order of time. It makes at most `MAX_TAIL_CALLS` calls.

    Args:
        client: a boto3 client of ``logs`` to which the queue is not attached.
        now_s: the queue's time, s since 1970.

    Raises:
        ClientError: of `headway_client.errors`: CloudWatch Logs refuses the call, fails or is not reachable.
    """
    events: list[LogEvent] = []
    with as_own_errors():
        streams = LogStreams(client.describe_log_streams, now_s=now_s, pages=1).of(attempt)
        # The newest stream of each host: they are ordered by host, then by age.
        newest = {stream.host: stream for stream in streams}
        unread: deque[tuple[LogStream, str | None]] = deque(
            (newest[host], None) for host in sorted(newest)[:MAX_TAIL_HOSTS]
        )
        for _ in range(MAX_TAIL_CALLS - 1):
            if not unread:
                break
            stream, token = unread.popleft()
            page = client.get_log_events(
                logGroupName=LOG_GROUP,
                logStreamName=stream.name,
                startFromHead=False,
                limit=MAX_TAIL_LINES,
                **({} if token is None else {"nextToken": token}),
            )
            events += [
                LogEvent(attempt=attempt.number, host=stream.host, time_ms=each["timestamp"], message=each["message"])
                for each in page["events"]
            ]
            # An empty page is not the end, an unchanged token is (source: API reference).
            if not page["events"] and page["nextBackwardToken"] != token:
                unread.append((stream, page["nextBackwardToken"]))
    return sorted(events, key=lambda event: event.time_ms)[-MAX_TAIL_LINES:]
