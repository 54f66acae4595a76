"""Limits the calls of an open board, so that boards that somebody forgot cost the queue little."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MAX_POLLS = 7
"""Calls of the poller within a window: six summaries and a forecast."""

MAX_READS = 5
"""Other reads within a window, such as of a job that the user opens. Changes come on top of them."""

MAX_AWS_CALLS = 14
"""Calls of CloudWatch within a window, for the pages of all jobs: two tails of logs, and curves of two jobs."""

WINDOW_S = 60.0
"""Length of the window, seconds."""


class CallBudget:
    """Counts calls within the last minute; used by several threads.

    Args:
        limit: maximum number of calls within any window.
        window_s: length of the window.
        clock: seconds that only increase.
    """

    def __init__(self, limit: int, *, window_s: float = WINDOW_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._window_s = window_s
        self._clock = clock
        self._calls: deque[float] = deque()
        self._lock = threading.Lock()

    def spend(self, calls: int = 1) -> bool:
        """Count calls, and return True, if there is room for all of them."""
        with self._lock:
            now_s = self._clock()
            while self._calls and now_s - self._calls[0] >= self._window_s:
                self._calls.popleft()
            if len(self._calls) + calls > self._limit:
                return False
            self._calls.extend([now_s] * calls)
            return True
