"""The log streams of a training job's hosts.

They are in one log group and are named ``<training job>/algo-<host>-<start>`` (source: SageMaker's guide, "CloudWatch
Logs for Amazon SageMaker AI"). A stream exists from the first line of its host on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from headway_client.models import Attempt

LOG_GROUP = "/aws/sagemaker/TrainingJobs"

STREAMS_PER_PAGE = 50
"""Maximum page size of DescribeLogStreams (source: API reference)."""

MAX_PAGES = 40
"""Maximum number of pages of streams that are read for one attempt: enough for 2,000 hosts."""

FRESH_S = 10.0
"""How long the listed streams of an attempt are cached while new streams are possible."""

LATE_MS = 300_000
"""How long after an attempt's end its log may still receive events; after that it does not change."""

_NAME = re.compile(r"(?P<attempt>[^/]+)/algo-(?P<host>[0-9]{1,5})(?:-.*)?")

Call = Callable[..., Any]
"""An operation of a boto3 client."""


@dataclass(frozen=True, kw_only=True, order=True)
class LogStream:
    """One stream: `host` is 1 for ``algo-1``."""

    host: int
    name: str


class LogStreams:
    """The streams of attempts, with a cache.

    Args:
        describe: the original ``describe_log_streams`` of a boto3 client.
        monotonic_s: the clock of the cache.
        now_s: the queue's time in seconds since 1970.
        pages: maximum number of pages of streams that are read for one attempt.
    """

    def __init__(
        self,
        describe: Call,
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
        pages: int = MAX_PAGES,
    ) -> None:
        self._describe = describe
        self._pages = pages
        self._monotonic_s = monotonic_s
        self._now_s = now_s
        self._listed: dict[str, tuple[float, tuple[LogStream, ...]]] = {}

    def of(self, attempt: Attempt) -> tuple[LogStream, ...]:
        """Return the existing streams of an attempt, ordered by host and then by age, oldest first.

        Raises:
            botocore.exceptions.ClientError: AWS refuses the call, other than for a log group that does not exist yet.
        """
        is_over = self.is_over(attempt)
        fresh_until_s, streams = self._listed.get(attempt.name, (0.0, ()))
        # Streams that were listed before the log was complete may lack some.
        if fresh_until_s == _FOREVER or (not is_over and self._monotonic_s() < fresh_until_s):
            return streams
        streams = tuple(sorted(self._list(attempt.name)))
        self._listed[attempt.name] = (_FOREVER if is_over else self._monotonic_s() + FRESH_S, streams)
        return streams

    def is_over(self, attempt: Attempt) -> bool:
        """Return whether an attempt ended so long ago that its log is complete."""
        ended_ms = end_ms(attempt)
        return ended_ms is not None and self._now_s() * 1000 > ended_ms + LATE_MS

    def _list(self, attempt_name: str) -> Iterator[LogStream]:
        where = {"logGroupName": LOG_GROUP, "logStreamNamePrefix": f"{attempt_name}/", "limit": STREAMS_PER_PAGE}
        for _ in range(self._pages):
            try:
                page = self._describe(**where)
            except ClientError as error:
                # The log group does not exist before the first log event of the account's training jobs.
                if error.response["Error"]["Code"] == "ResourceNotFoundException":
                    return
                raise
            for stream in page["logStreams"]:
                found = _NAME.fullmatch(stream["logStreamName"])
                if found is not None:
                    yield LogStream(host=int(found["host"]), name=stream["logStreamName"])
            if not page.get("nextToken"):
                return
            where["nextToken"] = page["nextToken"]


_FOREVER = float("inf")


def end_ms(attempt: Attempt) -> int | None:
    """Return the end of an attempt in milliseconds since 1970, or None if it has not ended."""
    if attempt.ended_time is None:
        return None
    return int(datetime.fromisoformat(attempt.ended_time).timestamp() * 1000)
