"""The launches of one tick whose calls are in flight."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.store.records.capacity.attempt import AttemptRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A call of CreateTrainingJob.

    Attributes:
        attempt: the attempt that it launches.
        answer: returns as the call did, or raises its error.
        asked_ms: the training time at which it began, ms.
        alone: whether no other one was in flight meanwhile.
    """

    attempt: AttemptRecord
    answer: Callable[[], None]
    asked_ms: int
    alone: bool = True


class LaunchesInFlight:
    """Calls of CreateTrainingJob, and the attempts that they launch.

    Args:
        calls: makes them.
    """

    def __init__(self, calls: ParallelCalls) -> None:
        self._calls = calls
        #: In the order in which they were begun.
        self._launches: dict[Future[None], Launch] = {}

    def __len__(self) -> int:
        """How many were begun and not taken back."""
        return len(self._launches)

    def begin(self, attempt: AttemptRecord, call: Callable[[], None], now_ms: int) -> None:
        """Begin a launch.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            call: launches it.
            now_ms: the training time, ms.
        """
        alone = not self._launches
        if not alone:
            self._launches = {outcome: replace(each, alone=False) for outcome, each in self._launches.items()}
        outcome = self._calls.submit(call)
        self._launches[outcome] = Launch(attempt=attempt, answer=outcome.result, asked_ms=now_ms, alone=alone)

    def pop_ended(self) -> Launch | None:
        """Take a launch out whose call has ended; None if none has."""
        ended = next((outcome for outcome in self._launches if outcome.done()), None)
        return None if ended is None else self._launches.pop(ended)

    def pop_failed(self) -> Launch | None:
        """Take a launch out whose call has ended with an error; None if none has."""
        failed = (outcome for outcome in self._launches if outcome.done() and outcome.exception() is not None)
        first = next(failed, None)
        return None if first is None else self._launches.pop(first)

    def wait(self) -> None:
        """Wait until the call of a launch has ended. There is at least one."""
        self._calls.wait(self._launches.keys())
