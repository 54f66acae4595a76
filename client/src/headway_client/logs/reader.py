"""Read the logs of all attempts and hosts of a job as one.

Each attempt is a training job with its own name and its own log streams.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from headway_client.errors import ClientError
from headway_client.logs.aws_errors import as_own_errors
from headway_client.logs.streams import LOG_GROUP, LogStream, LogStreams
from headway_client.models import Attempt, JobDetails

__all__ = ["LOG_GROUP", "MAX_PAGES_PER_READ", "JobLogs", "LogEvent"]

MAX_PAGES_PER_READ = 100
"""Maximum number of pages of events, each up to 1 MB, that one call of `JobLogs.new_events` reads."""


class LogsClient(Protocol):
    """The part of boto3's client of CloudWatch Logs that is used."""

    def describe_log_streams(self, **arguments: Any) -> Any:
        """List log streams."""

    def get_log_events(self, **arguments: Any) -> Any:
        """Read a log stream."""


@dataclass(frozen=True, kw_only=True)
class LogEvent:
    """One line of a host's log.

    Attributes:
        attempt: the number of the attempt, 1 for the first.
        host: the number of the host, 1 for ``algo-1``.
        time_ms: the time of the line, in milliseconds since 1970.
        message: the unchanged line.
    """

    attempt: int
    host: int
    time_ms: int
    message: str


class JobLogs:
    """The logs of one job; each call continues where the previous one ended.

    Args:
        client: a boto3 client of ``logs`` to which the queue is not attached.
        now_s: the queue's time, s since 1970.
    """

    def __init__(self, client: LogsClient, *, now_s: Callable[[], float] = time.time) -> None:
        self._client = client
        self._streams = LogStreams(client.describe_log_streams, now_s=now_s)
        #: The next token of each stream.
        self._tokens: dict[str, str] = {}
        #: Attempts that were read to their end when no more events were possible.
        self._read: set[str] = set()

    def new_events(self, details: JobDetails) -> list[LogEvent]:
        """Return the events since the last call, over all attempts and hosts, in order of time.

        At most about `MAX_PAGES_PER_READ` pages are read, and the rest by the next call. The list is empty if there are
        no further events now.

        Raises:
            ClientError: of `headway_client.errors`: CloudWatch Logs refuses the first call, fails or is not reachable.
                Events that were read before such an error are returned; if it persists, the next call raises it.
        """
        events: list[LogEvent] = []
        try:
            with as_own_errors():
                self._read_into(events, details)
        except ClientError:
            # The tokens are behind these events, so that no further call would return them.
            if not events:
                raise
        return sorted(events, key=lambda event: event.time_ms)

    def _read_into(self, events: list[LogEvent], details: JobDetails) -> None:
        pages_left = MAX_PAGES_PER_READ
        for attempt in sorted(details.attempts, key=lambda attempt: attempt.number):
            if attempt.name in self._read:
                continue
            was_over = self._streams.is_over(attempt)
            pages_left, ended = self._read_attempt(events, attempt, pages_left)
            if not ended:
                break
            if was_over:
                self._read.add(attempt.name)

    def _read_attempt(self, events: list[LogEvent], attempt: Attempt, pages_left: int) -> tuple[int, bool]:
        # One page of each host in turn, so that at the limit all hosts have been read about equally far.
        unread = list(self._streams.of(attempt))
        while unread and pages_left > 0:
            following = []
            for stream in unread:
                pages_left -= 1
                page, ended = self._page(stream)
                events += [
                    LogEvent(
                        attempt=attempt.number, host=stream.host, time_ms=event["timestamp"], message=event["message"]
                    )
                    for event in page
                ]
                if not ended:
                    following.append(stream)
            unread = following
        return pages_left, not unread

    def _page(self, stream: LogStream) -> tuple[list[dict[str, Any]], bool]:
        token = self._tokens.get(stream.name)
        page = self._client.get_log_events(
            logGroupName=LOG_GROUP,
            logStreamName=stream.name,
            startFromHead=True,
            **({} if token is None else {"nextToken": token}),
        )
        self._tokens[stream.name] = page["nextForwardToken"]
        # Only an unchanged token means the end, not an empty page (source: API reference).
        return page["events"], page["nextForwardToken"] == token
