"""Reads the summary again and again: the only part of a board that does so, for all its tabs and screens."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from headway_client.board.budget import MAX_POLLS, MAX_READ_BURST, MAX_READS, CallBudget
from headway_client.errors import ClientError
from headway_client.models import Forecast, Summary

VISIBLE_EVERY_S = 10.0
"""Interval of summaries while somebody looks."""

HIDDEN_EVERY_S = 30.0
"""Interval of summaries while nobody looks: two calls a minute."""

FORECAST_EVERY_S = 60.0
"""Interval of forecasts while somebody looks. A forecast takes the queue about a second."""

MAX_BACKOFF_S = 60.0
"""Longest interval after errors. It doubles with each of them, and a random part of up to a half is left out."""


class Queue(Protocol):
    """The part of `headway_client.http.api.HeadwayApi` that is polled."""

    def summary(self, known: str | None = None) -> Summary | None:
        """Return the summary; None if it is the known one."""

    def forecast(self) -> Forecast:
        """Return the forecast."""

    def now_s(self) -> float:
        """Return the queue's time."""


@dataclass(frozen=True, kw_only=True)
class View:
    """What a board shows now.

    Attributes:
        summary: the newest summary; None before the first one.
        forecast: the newest forecast; None before the first one.
        read_s: the queue's time at the newest summary, s since 1970.
        age_s: the time since the last response, seconds.
        error: why the last call failed; empty if it did not.
    """

    summary: Summary | None = None
    forecast: Forecast | None = None
    read_s: float = 0.0
    age_s: float = 0.0
    error: str = ""


class Poller:
    """Calls the queue if a call is due, and keeps the newest responses.

    Args:
        queue: the queue. One call should make one request: retries are the poller's own.
        clock: seconds that only increase.
        on_summary: called with each new summary and the queue's time.
        jitter: a random number from 0 to 1. Boards that were refused together, as they all began to call at the same
            time, call at different times from then on.

    Attributes:
        reads: limits all other reads of the board.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_summary: Callable[[Summary, float], None] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._budget = CallBudget(MAX_POLLS, clock=clock)
        self.reads = CallBudget(MAX_READS, burst=MAX_READ_BURST, clock=clock)
        self._on_summary = on_summary
        self._jitter = jitter
        self._view = View()
        self._called_s: float | None = None
        self._answered_s: float | None = None
        self._forecast_due_s = -math.inf
        self._is_refreshed = False
        self._backoff_s = 0.0
        self._pause_s = 0.0
        self._lock = threading.Lock()

    def poll(self, *, hidden: bool = False) -> View:
        """Make the calls that are due, and return what is known.

        Several threads may poll: one of them calls, and meanwhile the others get what was known before, so that a
        queue that does not answer holds up one of them only.

        Args:
            hidden: whether nobody looks.
        """
        if self._lock.acquire(blocking=self._view.summary is None):
            try:
                if self._is_due(hidden=hidden) and self._budget.spend():
                    self._read()
                elif self._forecast_is_due(hidden=hidden) and self._budget.spend():
                    self._read_forecast()
            finally:
                self._lock.release()
        answered_s = self._answered_s
        return replace(self._view, age_s=0.0 if answered_s is None else self._clock() - answered_s)

    @property
    def view(self) -> View:
        """What is known, without a call."""
        return self._view

    def refresh(self) -> None:
        """Make the next summary due, as after a change."""
        self._is_refreshed = True

    def _is_due(self, *, hidden: bool) -> bool:
        if self._called_s is None or self._is_refreshed:
            return True
        every_s = max(HIDDEN_EVERY_S if hidden else VISIBLE_EVERY_S, self._pause_s)
        return self._clock() - self._called_s >= every_s

    def _forecast_is_due(self, *, hidden: bool) -> bool:
        if hidden or self._backoff_s or self._view.summary is None or not self._view.summary.waiting:
            return False
        return self._clock() >= self._forecast_due_s

    def _read(self) -> None:
        self._called_s = self._clock()
        self._is_refreshed = False
        known = self._view.summary
        try:
            found = self._queue.summary(known.version if known is not None else None)
        except ClientError as error:
            self._backoff_s = min(MAX_BACKOFF_S, 2 * max(self._backoff_s, VISIBLE_EVERY_S))
            self._pause_s = self._spread(self._backoff_s)
            self._view = replace(self._view, error=str(error))
            return
        self._backoff_s = self._pause_s = 0.0
        self._answered_s = self._clock()
        self._view = replace(self._view, summary=found or known, read_s=self._queue.now_s(), error="")
        if found is not None and self._on_summary is not None:
            self._on_summary(found, self._view.read_s)

    def _read_forecast(self) -> None:
        self._forecast_due_s = self._clock() + FORECAST_EVERY_S
        try:
            self._view = replace(self._view, forecast=self._queue.forecast())
        except ClientError as error:
            self._forecast_due_s = self._clock() + self._spread(2 * FORECAST_EVERY_S)
            # A caller may have the right to see the summary only.
            self._view = replace(self._view, error="" if self._view.summary else str(error))

    def _spread(self, pause_s: float) -> float:
        return pause_s / 2 * (1 + self._jitter())
