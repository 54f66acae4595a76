"""Limits the calls of an open board, so that boards that somebody forgot cost the queue little."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

MAX_POLLS = 7
"""Calls of the poller in a minute, on average: six summaries and a forecast."""

MAX_READS = 10
"""Other reads in a minute, on average, such as of a job that the user opens. Changes come on top of them."""

MAX_READ_BURST = 30
"""Other reads at once: somebody who looks through many pages does not wait."""

MAX_AWS_CALLS = 14
"""Calls of CloudWatch in a minute, on average, for the pages of all jobs: two tails of logs, and curves of two jobs."""

MINUTE_S = 60.0


class CallBudget:
    """A budget of calls that fills up steadily, and can be spent at once; used by several threads.

    Args:
        per_minute: calls that are added in a minute.
        burst: the most calls that it holds, with which it begins; as many as are added in a minute by default.
        clock: seconds that only increase.
    """

    def __init__(
        self, per_minute: int, *, burst: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._burst = burst or per_minute
        self._clock = clock
        self._left = float(self._burst)
        self._filled_s = clock()
        self._lock = threading.Lock()

    def spend(self, calls: int = 1) -> bool:
        """Count calls, and return True, if there is room for all of them."""
        with self._lock:
            self._fill()
            if self._left < calls:
                return False
            self._left -= calls
            return True

    def wait_s(self, calls: int = 1) -> int:
        """Return after how many whole seconds there is room for calls; 0 if there is room now."""
        with self._lock:
            self._fill()
            return math.ceil(max(0.0, calls - self._left) * MINUTE_S / self._per_minute)

    def refusal(self) -> str:
        """Return the sentence for a user whose call has no room."""
        return f"The board limits its calls of the queue; there is room for the next one in {self.wait_s()} s."

    def _fill(self) -> None:
        now_s = self._clock()
        added = (now_s - self._filled_s) * self._per_minute / MINUTE_S
        self._left = min(self._burst, self._left + added)
        self._filled_s = now_s
