"""Asks SageMaker about attempts one by one, several at once, as many as one run of the reconciler may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from headway_service.errors import Conflict, OutcomeUnknown, RetryLater, Throttled, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.training_jobs import TrainingJobs, TrainingJobStatus
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.tracking.observer import Observer, StatusOutcome

MAX_DESCRIBED = 300
"""Attempts that one run describes. AWS does not document the rate of DescribeTrainingJob, which all of an account
share: a run describes no more once SageMaker has throttled it."""

DESCRIBED_AT_ONCE = 4
"""Attempts that are described at once. A call takes 0.2 to 0.35 s, so these are 12 to 20 calls a second."""


def round_s(attempts: int) -> int:
    """In what time the reconciler asks about so many attempts at the latest if no list shows them, s."""
    return 60 * -(-attempts // MAX_DESCRIBED)


class AttemptChecks:
    """The attempts that one run describes.

    Args:
        observer: applies the statuses.
        training_jobs: SageMaker.
        calls: makes calls in parallel.
        clocks: training time and machine time.
        has_time: whether further ones may be begun.

    Attributes:
        described: how many were.
        ended: how many have ended, or have to be stopped.
    """

    def __init__(
        self,
        observer: Observer,
        training_jobs: TrainingJobs,
        calls: ParallelCalls,
        clocks: Clocks,
        has_time: Callable[[], bool],
    ) -> None:
        self._observer = observer
        self._training_jobs = training_jobs
        self._calls = calls
        self._clocks = clocks
        self._has_time = has_time
        self._is_throttled = False
        self.described = self.ended = 0

    def has_time(self) -> bool:
        """Whether the run may ask about further attempts."""
        return self._has_time()

    def describe(
        self,
        attempts: Iterable[AttemptRecord],
        *,
        most: int,
        until_ms: int | None = None,
    ) -> None:
        """Describe attempts in their order, and apply what SageMaker says of them.

        Args:
            attempts: they are taken as far as they are described.
            most: how many may be described in this run, with those that were.
            until_ms: none is begun after this machine time, ms; None for as long as the run has time.
        """
        left = iter(attempts)
        while self.described < most and not self._is_throttled and self._has_time():
            if until_ms is not None and self._clocks.machine_ms() >= until_ms:
                return
            some = list(islice(left, min(DESCRIBED_AT_ONCE, most - self.described)))
            if not some:
                return
            self.described += len(some)
            for name, answer in self._ask(some):
                self._apply(name, answer)

    def _ask(self, attempts: Sequence[AttemptRecord]) -> list[tuple[str, Callable[[], TrainingJobStatus | None]]]:
        """Ask about some attempts at once. Each answer is given, or raised, by a function."""
        answers: dict[str, TrainingJobStatus | None] = {}

        def ask(name: str) -> None:
            answers[name] = self._training_jobs.describe(name)

        names = [each.attempt_name for each in attempts]
        asked = [(name, self._calls.submit(partial(ask, name))) for name in names]
        for _, call in asked:
            self._calls.wait([call])

        def answer(name: str) -> TrainingJobStatus | None:
            dict(asked)[name].result()
            return answers[name]

        return [(name, partial(answer, name)) for name in names]

    def _apply(self, name: str, answer: Callable[[], TrainingJobStatus | None]) -> None:
        try:
            outcome = self._observer.apply_answer(name, answer(), self._clocks.training_ms())
            self.ended += outcome is StatusOutcome.TICK_DUE
        except Throttled as error:
            self._is_throttled = True
            logger.warning("SageMaker throttles; the next run continues", extra={"attempt": name, "error": str(error)})
        except (OutcomeUnknown, RetryLater, Conflict, UnreadableRecord) as error:
            logger.warning("not reconciled now", extra={"attempt": name, "error": str(error)})
