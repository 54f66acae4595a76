"""The launches of one tick whose calls are in flight: launches wait for SageMaker in parallel.

What follows from their answers is done one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from headway_service.observability.logging import logger
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
        at_once: how many may be in flight now.
        reconcile: does what follows from the answer to one. Returns whether it went as decided.
    """

    def __init__(
        self, calls: ParallelCalls, *, at_once: Callable[[], int], reconcile: Callable[[Launch], bool]
    ) -> None:
        self._calls = calls
        self._at_once = at_once
        self._reconcile = reconcile
        #: In the order in which they were begun.
        self._launches: dict[Future[None], Launch] = {}

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

    def reconcile_ended(self) -> bool:
        """Reconcile all launches whose calls have ended. Returns whether they went as decided."""
        return self._reconcile_each(self._pop_ended)

    def make_room(self) -> bool:
        """Reconcile the launches that have failed, and wait until another one may begin.

        Of those that SageMaker has accepted it reconciles only as many as have to make room: while one is reconciled,
        fewer calls are in flight than may be.

        Returns:
            Whether they went as decided.
        """
        as_decided = self._reconcile_each(self._pop_failed)
        while len(self._launches) >= self._at_once():
            self._wait()
            as_decided &= self._reconcile_each(self._pop_failed)
            if (accepted := self._pop_ended()) is not None:
                as_decided &= self._reconcile(accepted)
        return as_decided

    def reconcile_all(self) -> bool:
        """Wait for all launches and reconcile them: only this invocation knows their answers.

        Returns:
            Whether they went as decided.

        Raises:
            Exception: one could not be reconciled; the first error. All others are.
        """
        as_decided, failed = True, None
        while self._launches:
            try:
                self._wait()
                as_decided &= self.reconcile_ended()
            except Exception as error:  # noqa: BLE001 - raised when the others are reconciled
                logger.warning("a launch is not reconciled", extra={"error": repr(error)})
                failed = failed or error
        if failed is not None:
            raise failed
        return as_decided

    def _reconcile_each(self, pop: Callable[[], Launch | None]) -> bool:
        as_decided = True
        while (ended := pop()) is not None:
            as_decided &= self._reconcile(ended)
        return as_decided

    def _pop_ended(self) -> Launch | None:
        ended = next((outcome for outcome in self._launches if outcome.done()), None)
        return None if ended is None else self._launches.pop(ended)

    def _pop_failed(self) -> Launch | None:
        failed = (outcome for outcome in self._launches if outcome.done() and outcome.exception() is not None)
        first = next(failed, None)
        return None if first is None else self._launches.pop(first)

    def _wait(self) -> None:
        self._calls.wait(self._launches.keys())
