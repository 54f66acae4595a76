"""Limits the calls of an open board, so that boards that somebody forgot cost the queue little."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MAX_CALLS = 12
"""Calls of the API by an open board within a window, whatever its user looks at. Changes come on top of them."""

WINDOW_S = 60.0
"""Length of the window, seconds."""


class CallBudget:
    """Counts calls within the last minute; used by several threads.

    Args:
        limit: maximum number of calls within the window.
        window_s: length of the window.
        clock: seconds that only increase.
    """

    def __init__(
        self, limit: int = MAX_CALLS, window_s: float = WINDOW_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._clock = clock
        self._calls: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self, *, leave: int = 0) -> bool:
        """Count a call, and return True, if there is room for it.

        Args:
            leave: number of calls to leave for others.
        """
        with self._lock:
            now_s = self._clock()
            while self._calls and now_s - self._calls[0] >= self._window_s:
                self._calls.popleft()
            if len(self._calls) + leave >= self._limit:
                return False
            self._calls.append(now_s)
            return True
