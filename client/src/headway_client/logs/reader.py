"""What a job's training jobs have written: the logs of all its attempts and hosts, as one.

A job that was preempted or tried again runs under another training job's name, and its logs lie elsewhere. Here they
follow on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from headway_client.errors import BusyError, NotAllowedError, NotReachableError, ServerFaultError
from headway_client.logs.streams import LOG_GROUP, LogStream, LogStreams
from headway_client.models import Attempt, JobDetails

__all__ = ["LOG_GROUP", "MAX_PAGES_PER_READ", "JobLogs", "LogEvent"]

MAX_PAGES_PER_READ = 100
"""After so many pages of events, each up to 1 MB, one call of `JobLogs.new_events` reads no further."""


class LogsClient(Protocol):
    """What is needed of boto3's client of CloudWatch Logs."""

    def describe_log_streams(self, **arguments: Any) -> Any:
        """List log streams."""

    def get_log_events(self, **arguments: Any) -> Any:
        """Read a log stream."""


@dataclass(frozen=True, kw_only=True)
class LogEvent:
    """One line that a host wrote.

    Attributes:
        attempt: the number of the attempt, 1 for the first.
        host: the number of the host, 1 for ``algo-1``.
        time_ms: when it was written, in milliseconds since 1970.
        message: the line, as it was written.
    """

    attempt: int
    host: int
    time_ms: int
    message: str


class JobLogs:
    """The logs of one job, read on from where the last call ended.

    Args:
        client: boto3's client of ``logs``, one that the queue is not attached to.
    """

    def __init__(self, client: LogsClient) -> None:
        self._client = client
        self._streams = LogStreams(client.describe_log_streams)
        #: Where to read on, stream by stream.
        self._tokens: dict[str, str] = {}
        #: Attempts that were read to their end after nothing more could come.
        self._read: set[str] = set()

    def new_events(self, details: JobDetails) -> list[LogEvent]:
        """Return what was written since the last call, over all attempts and hosts, in order of time.

        About `MAX_PAGES_PER_READ` pages are read at most; the rest comes with the next call. None are returned if there
        is nothing more by now.

        Raises:
            ClientError: of `headway_client.errors`: CloudWatch Logs refuses, fails or is not reachable.
        """
        events: list[LogEvent] = []
        pages_left = MAX_PAGES_PER_READ
        with _as_own_errors():
            for attempt in sorted(details.attempts, key=lambda attempt: attempt.number):
                if attempt.name in self._read:
                    continue
                was_over = self._streams.is_over(attempt)
                found, pages_left, ended = self._attempt_events(attempt, pages_left)
                events += found
                if not ended:
                    break
                if was_over:
                    self._read.add(attempt.name)
        return sorted(events, key=lambda event: event.time_ms)

    def _attempt_events(self, attempt: Attempt, pages_left: int) -> tuple[list[LogEvent], int, bool]:
        events: list[LogEvent] = []
        # A page of each host in turn, so that where it breaks off all hosts have come about equally far.
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
        return events, pages_left, not unread

    def _page(self, stream: LogStream) -> tuple[list[dict[str, Any]], bool]:
        token = self._tokens.get(stream.name)
        page = self._client.get_log_events(
            logGroupName=LOG_GROUP,
            logStreamName=stream.name,
            startFromHead=True,
            **({} if token is None else {"nextToken": token}),
        )
        self._tokens[stream.name] = page["nextForwardToken"]
        # The end is where the token stays the same; an empty page alone says nothing (source: API reference).
        return page["events"], page["nextForwardToken"] == token


@contextmanager
def _as_own_errors() -> Iterator[None]:
    try:
        yield
    except NoCredentialsError as error:
        raise NotAllowedError(
            "There are no AWS credentials to read logs with. Set AWS_PROFILE, or run `aws configure sso`.",
            code="NoCredentials",
        ) from error
    except BotoCoreError as error:
        raise NotReachableError(
            f"CloudWatch Logs does not respond: {error} Check the region and the way to its endpoint."
        ) from error
    except ClientError as error:
        problem = error.response["Error"]
        said = f"{problem.get('Code')}: {problem.get('Message')}"
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if "AccessDenied" in said:
            raise NotAllowedError(
                f"The logs may not be read ({said}). Allow logs:DescribeLogStreams and logs:GetLogEvents on the log "
                f"group {LOG_GROUP}.",
                status=status,
            ) from error
        if "Throttling" in said or "LimitExceeded" in said:
            raise BusyError(f"CloudWatch Logs is busy ({said}). Try again later.", status=status) from error
        raise ServerFaultError(f"CloudWatch Logs refuses to give the logs ({said}).", status=status) from error
