"""Reads the figures of jobs with the caller's own AWS credentials: one reader for all tabs and screens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from botocore.exceptions import BotoCoreError
from botocore.exceptions import ClientError as AwsError

from headway_client.board.budget import MAX_AWS_CALLS, CallBudget
from headway_client.board.job_page.figures import Figures, LogLine
from headway_client.board.rows import seconds_of
from headway_client.errors import ClientError
from headway_client.job_figures.curves import Curves, host_types, read_curves
from headway_client.logs.streams import LATE_MS, end_ms
from headway_client.logs.tail import MAX_TAIL_CALLS, read_tail
from headway_client.models import Attempt, JobDetails

CURVES_EVERY_S = 60.0
"""Interval at which the utilization of a job is read: SageMaker publishes a value each minute."""

LOG_EVERY_S = 30.0
"""Interval at which the log of a job is read."""

MAX_KEPT_ATTEMPTS = 20
"""Attempts whose figures are kept, the newest opened."""

NOT_STARTED = "It has not been started, so it has no utilization and no log."
OF_MEMBERS = "It is an array: its members have utilization and logs."
_TOO_MANY = "The {what} will be read in {wait_s} s: the board limits its calls of CloudWatch."

Value = TypeVar("Value")
Read = Callable[[JobDetails, Attempt, float], Value]
"""Reads a kind of figures of an attempt that started at a time, s since 1970."""


@dataclass(kw_only=True)
class _Kept(Generic[Value]):
    """What was read of an attempt.

    Attributes:
        value: the newest value; None before the first one.
        note: why the last read failed; empty if it did not.
        due_s: when it is read again; never if that is infinite.
    """

    value: Value | None = None
    note: str = ""
    due_s: float = 0.0


@dataclass(kw_only=True)
class _Part(Generic[Value]):
    """A kind of figures.

    Attributes:
        what: its name, in sentences.
        calls: maximum number of calls of a read.
        every_s: interval of reads.
        read: reads it.
        kept: what was read, by attempt.
    """

    what: str
    calls: int
    every_s: float
    read: Read[Value]
    kept: dict[str, _Kept[Value]] = field(default_factory=dict)


class FigureReader:
    """Reads and keeps the figures of jobs. Several threads may use it.

    Args:
        client_of: returns a boto3 client of a service, which tries each call once; called with its first use.
        now_s: the queue's time, s since 1970.
        clock: seconds that only increase.
    """

    def __init__(
        self,
        client_of: Callable[[str], Any],
        *,
        now_s: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client_of = client_of
        self._clients: dict[str, Any] = {}
        self._now_s = now_s
        self._clock = clock
        self._budget = CallBudget(MAX_AWS_CALLS, clock=clock)
        self._lock = threading.Lock()
        self._curves = _Part(what="utilization", calls=1, every_s=CURVES_EVERY_S, read=self._read_curves)
        self._lines = _Part(what="log", calls=MAX_TAIL_CALLS, every_s=LOG_EVERY_S, read=self._read_lines)

    def read(self, job: JobDetails) -> Figures:
        """Return the figures of a job's newest attempt. What can't be read is named in the notes."""
        started = [(each.number, each, each.started_time) for each in job.attempts if each.started_time]
        if not started:
            return Figures(notes=(NOT_STARTED if job.array is None else OF_MEMBERS,))
        _, attempt, start = max(started, key=lambda each: each[0])
        with self._lock:
            curves = self._of(self._curves, job, attempt, seconds_of(start))
            lines = self._of(self._lines, job, attempt, seconds_of(start))
        return Figures(
            attempt=attempt.name,
            curves=curves.value,
            lines=lines.value or (),
            notes=tuple(note for note in (curves.note, lines.note) if note),
        )

    def _of(self, part: _Part[Value], job: JobDetails, attempt: Attempt, start_s: float) -> _Kept[Value]:
        # The newest opened attempt is the last one.
        kept = part.kept.pop(attempt.name, None) or _Kept()
        part.kept[attempt.name] = kept
        while len(part.kept) > MAX_KEPT_ATTEMPTS:
            del part.kept[next(iter(part.kept))]
        if self._clock() < kept.due_s:
            return kept
        if not self._budget.spend(part.calls):
            kept.note = self._wait(part) if kept.value is None else ""
            return kept
        # What has been complete for minutes does not change any more.
        ended_ms = end_ms(attempt)
        is_over = ended_ms is not None and self._now_s() * 1000 > ended_ms + LATE_MS
        try:
            kept.value, kept.note = part.read(job, attempt, start_s), ""
        except ClientError as error:
            kept.note, is_over = str(error), False
        kept.due_s = float("inf") if is_over else self._clock() + part.every_s
        return kept

    def _wait(self, part: _Part[Value]) -> str:
        return _TOO_MANY.format(what=part.what, wait_s=self._budget.wait_s(part.calls))

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._client_of(service)
        return self._clients[service]

    def _read_curves(self, job: JobDetails, attempt: Attempt, start_s: float) -> Curves:
        ended_ms, now_s = end_ms(attempt), self._now_s()
        end_s = now_s if ended_ms is None else ended_ms / 1000
        types = host_types(job, attempt)
        try:
            return read_curves(
                self._client("cloudwatch"), attempt.name, types, start_s=start_s, end_s=end_s, now_s=now_s
            )
        except AwsError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            remedy = "; allow cloudwatch:GetMetricData" if "AccessDenied" in code else ""
            raise ClientError(f"The utilization can't be read ({code}){remedy}.", code=code) from error
        except BotoCoreError as error:
            raise ClientError(f"The utilization can't be read: {error}") from error

    def _read_lines(self, _: JobDetails, attempt: Attempt, __: float) -> tuple[LogLine, ...]:
        return tuple(map(LogLine.of, read_tail(self._client("logs"), attempt, now_s=self._now_s)))
