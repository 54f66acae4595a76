"""CloudWatch Logs under a job's own name: virtual streams ``<job>/algo-<host>`` that span all attempts.

Clients that read a training job's logs list the streams under its name until there are as many as hosts, and then read
only these. Later attempts have other names, so their streams would be missed. Hence each host has one virtual stream,
which is read from the real streams of all attempts in order. All other streams and groups are passed on to AWS.

What clients rely on: SDK 2 starts each read from the time of the last event with a number of events to skip, and reads
until a page is empty (its ``logs.py``); SDK 3 keeps the token while it waits (``core/utils/logs.py``). Both take an
empty page for the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.errors import NotAllowedError
from headway_client.logs.streams import LATE_MS, LOG_GROUP, STREAMS_PER_PAGE, Call, LogStreams, end_ms
from headway_client.models import JobDetails

MAX_EMPTY_PAGES = 20
"""Number of consecutive empty pages that count as a stream's end, even if the token changes."""

_OWN_STREAM = re.compile(r"(?P<job>[^/]+)/algo-(?P<host>[1-9][0-9]{0,4})")
_TOKEN_MARK = "headway"  # noqa: S105  # the prefix of pagination tokens


@dataclass(frozen=True, kw_only=True)
class Position:
    """A position in a virtual stream: a real stream with one of its tokens.

    Attributes:
        forward: whether later events are next, or earlier ones.
        stream: the real stream; empty if there is none yet.
        token: AWS's token in the real stream; empty for its beginning or, if not `forward`, its end.
    """

    forward: bool
    stream: str = ""
    token: str = ""

    def to_text(self) -> str:
        """Return the position as a token. A stream name has no colon (source: API reference, CreateLogStream)."""
        return f"{_TOKEN_MARK}:{'f' if self.forward else 'b'}:{self.stream}:{self.token}"

    @classmethod
    def from_text(cls, text: str) -> Position:
        """Parse a token; raises botocore's ``ClientError``, with AWS's code for an invalid token, on any other text."""
        mark, _, rest = text.partition(":")
        direction, _, rest = rest.partition(":")
        stream, colon, token = rest.partition(":")
        if mark != _TOKEN_MARK or direction not in {"f", "b"} or not colon:
            raise ClientError(
                {"Error": {"Code": "InvalidParameterException", "Message": "The specified nextToken is invalid."}},
                "GetLogEvents",
            )
        return cls(forward=direction == "f", stream=stream, token=token)


class LogsProxy:
    """Replacements of two operations of a CloudWatch Logs client.

    Args:
        jobs: the queue's jobs.
        describe: the client's original ``describe_log_streams``.
        get: the client's original ``get_log_events``.
    """

    def __init__(self, jobs: QueueJobs, *, describe: Call, get: Call) -> None:
        self._jobs = jobs
        self._aws_describe = describe
        self._aws_get = get
        self._streams = LogStreams(describe, now_s=jobs.now_s)

    def describe_log_streams(self, *args: Any, **arguments: Any) -> Any:
        """Return the virtual streams of a job if the prefix matches them; otherwise call AWS."""
        prefix = arguments.get("logStreamNamePrefix")
        details = None
        if arguments.get("logGroupName") == LOG_GROUP and isinstance(prefix, str):
            details = self._find(prefix.partition("/")[0], "DescribeLogStreams")
        if details is None:
            return self._aws_describe(*args, **arguments)
        names = sorted(f"{details.job.name}/algo-{host}" for host in range(1, sum(details.job.demand.values()) + 1))
        asked = [name for name in names if name.startswith(str(prefix))]
        if not asked:
            return self._aws_describe(*args, **arguments)
        # Like SageMaker's streams, they exist from the first event on.
        if not any(self._streams.of(attempt) for attempt in details.attempts):
            asked = []
        return _page_of_streams(asked, details, arguments)

    def get_log_events(self, *args: Any, **arguments: Any) -> Any:
        """Return events of a virtual stream; for other streams call AWS."""
        name = arguments.get("logStreamName")
        found = _OWN_STREAM.fullmatch(name) if isinstance(name, str) else None
        details = None
        if found is not None and arguments.get("logGroupName") == LOG_GROUP:
            details = self._find(found["job"], "GetLogEvents")
        if found is None or details is None:
            return self._aws_get(*args, **arguments)
        token = arguments.pop("nextToken", None)
        forward = bool(arguments.pop("startFromHead", False))
        start = Position.from_text(token) if token else Position(forward=forward)
        streams = self._real_streams(details, host=int(found["host"]), start_ms=arguments.get("startTime"))
        return self._read(start, streams, arguments)

    def _find(self, job: str, operation: str) -> JobDetails | None:
        try:
            return self._jobs.find(job, recent=True)
        except NotAllowedError as error:
            if error.status is None:
                raise
            raise ClientError(
                {"Error": {"Code": "AccessDeniedException", "Message": error.full_message()}}, operation
            ) from error

    def _real_streams(self, details: JobDetails, *, host: int, start_ms: int | None) -> list[str]:
        """Return the real streams of a virtual stream in order of time."""
        names = []
        for attempt in sorted(details.attempts, key=lambda attempt: attempt.number):
            ended_ms = end_ms(attempt)
            if start_ms and ended_ms is not None and ended_ms + LATE_MS < start_ms:
                continue
            names += [stream.name for stream in self._streams.of(attempt) if stream.host == host]
        return names

    def _read(self, start: Position, streams: Sequence[str], arguments: dict[str, Any]) -> dict[str, Any]:
        ordered = list(streams) if start.forward else list(reversed(streams))
        if start.stream:
            # A stream that is no longer in the list is older than all others.
            if start.stream not in ordered:
                ordered.insert(0 if start.forward else len(ordered), start.stream)
            ordered = ordered[ordered.index(start.stream) :]
        end: dict[str, Any] | None = None
        for number, stream in enumerate(ordered):
            token = start.token if number == 0 else ""
            page = self._page(stream, token, forward=start.forward, arguments=arguments)
            if page["events"]:
                return page
            # Continue from the end of the first stream: later events are found there or in the streams after it.
            end = end or page
        if end is None:
            tokens = {"nextForwardToken": Position(forward=True), "nextBackwardToken": Position(forward=False)}
            return {"events": [], **{name: position.to_text() for name, position in tokens.items()}, **_metadata()}
        return end

    def _page(self, stream: str, token: str, *, forward: bool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the next page with events of a real stream, or an empty one at its end."""
        following = "nextForwardToken" if forward else "nextBackwardToken"
        asked = {**arguments, "logStreamName": stream, "startFromHead": forward}
        page: dict[str, Any] = {}
        for _ in range(MAX_EMPTY_PAGES):
            page = self._aws_get(**asked, **({"nextToken": token} if token else {}))
            # Only an unchanged token means the end (source: API reference, GetLogEvents).
            if page["events"] or page[following] == token:
                break
            token = page[following]
        for name, ahead in (("nextForwardToken", True), ("nextBackwardToken", False)):
            page[name] = Position(forward=ahead, stream=stream, token=page[name]).to_text()
        return page


def _page_of_streams(names: list[str], details: JobDetails, arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("descending"):
        names = names[::-1]
    # With AWS's page size return all streams: SDK 2 requests the first page again and again if there are two.
    size = int(arguments.get("limit", STREAMS_PER_PAGE))
    size = size if 0 < size < STREAMS_PER_PAGE else max(len(names), 1)
    _, _, offset = str(arguments.get("nextToken") or f"{_TOKEN_MARK}:0").partition(":")
    first = int(offset) if offset.isdecimal() else 0
    created_ms = int(datetime.fromisoformat(details.job.entry_time).timestamp() * 1000)
    streams = [
        {"logStreamName": name, "creationTime": created_ms, "storedBytes": 0} for name in names[first : first + size]
    ]
    more = {"nextToken": f"{_TOKEN_MARK}:{first + size}"} if first + size < len(names) else {}
    return {"logStreams": streams, **more, **_metadata()}


def _metadata() -> dict[str, Any]:
    return {"ResponseMetadata": {"RequestId": "", "HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}}
