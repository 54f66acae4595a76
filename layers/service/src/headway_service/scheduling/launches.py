"""The launches of one tick whose calls are in flight."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.store.records.attempt import AttemptRecord


class LaunchesInFlight:
    """Calls of CreateTrainingJob, and the attempts that they launch.

    Args:
        calls: makes them.
    """

    def __init__(self, calls: ParallelCalls) -> None:
        self._calls = calls
        #: In the order in which they were begun.
        self._attempts: dict[Future[None], tuple[AttemptRecord, int]] = {}

    def __len__(self) -> int:
        """How many were begun and not taken back."""
        return len(self._attempts)

    def begin(self, attempt: AttemptRecord, call: Callable[[], None], now_ms: int) -> None:
        """Begin a launch.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            call: launches it.
            now_ms: the training time, ms.
        """
        self._attempts[self._calls.submit(call)] = (attempt, now_ms)

    def pop_ended(self) -> tuple[AttemptRecord, int, Callable[[], None]] | None:
        """Take a launch out whose call has ended; None if none has.

        Returns:
            The attempt; when its launch began, ms; and what returns as the call did, or raises its error.
        """
        ended = next((outcome for outcome in self._attempts if outcome.done()), None)
        return None if ended is None else (*self._attempts.pop(ended), ended.result)

    def wait(self) -> None:
        """Wait until the call of a launch has ended. There is at least one."""
        self._calls.wait(self._attempts.keys())
