"""The faults of calls, their rates in one run, and how often they occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from headway_sandbox.sagemaker.raw_answers import AFTER, BEFORE, RawAnswer


class Fault(StrEnum):
    """A fault of an external call."""

    NONE = "none"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    #: The service rejects the call.
    REFUSED = "refused"
    #: The call takes effect, but the caller gets an error or no answer.
    ANSWER_LOST = "answer lost"
    #: The call takes seconds, in which other invocations proceed.
    SLOW = "slow"
    #: The client library retried the call after a missing answer; the caller gets the second answer.
    SENT_TWICE = "sent twice"
    #: An intermediary answers, and the call does not reach the service.
    RAW_BEFORE = "raw answer before"
    #: The call takes effect, and an intermediary answers instead of the service.
    RAW_AFTER = "raw answer after"


READS = frozenset(
    {
        *("GetItem", "Query", "DescribeTrainingJob", "ListTags", "ListTrainingJobs", "DescribeAlarms"),
        *("BatchGetItem", "ListObjectsV2", "GetObject", "GetMetricData"),
    }
)
"""Calls without an effect. Most calls are of this kind and their faults reveal less, so these faults are rarer."""

BESIDE = frozenset({"PutEvents", "PublishBatch"})
"""Calls with an effect, but none on jobs."""

READS_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class FaultRates:
    """The fault rates of one run, per call with an effect."""

    crash: float = 0.0
    refusal: float = 0.0
    loss: float = 0.0
    slowness: float = 0.0
    #: How often an intermediary answers.
    raw: float = 0.0
    #: How often a second scheduler starts while one runs.
    overlap: float = 0.0
    #: See :class:`headway_verification.soak.cooperative_scheduler.CooperativeScheduler`.
    switch: float | None = None

    @classmethod
    def draw(cls, random: Random) -> FaultRates:
        """Draw the rates of a run: some runs have few faults, others many, in different proportions."""
        return cls(
            crash=random.choice([0.0, 0.02, 0.1]),
            refusal=random.choice([0.0, 0.05, 0.2]),
            loss=random.choice([0.0, 0.05, 0.2]),
            slowness=random.choice([0.0, 0.05, 0.2]),
            raw=random.choice([0.0, 0.05, 0.2]),
            overlap=random.choice([0.0, 0.05, 0.5]),
            switch=random.choice([None, 0.02, 0.1]),
        )


class FaultPlan:
    """Selects the faults of calls.

    Args:
        random: determines the faults.
        rates: the fault rates; None for no faults.
        only: the numbers of the happenings to keep; None for all.

    Attributes:
        planned: selects the fault of each call; None for random faults.
        raw: the raw answer to use; None for a random one; see :mod:`headway_sandbox.sagemaker.raw_answers`.
        happened: the number of happenings so far, including those left out: faults, and user actions.
        calls: the number of calls, by operation.
        made: the operations, in the order of the calls.
        counted: the number of faults, by operation and kind.
    """

    def __init__(self, random: Random, rates: FaultRates | None = None, *, only: Collection[int] | None = None) -> None:
        self._random = random
        #: All other happenings are left out.
        self._only = None if only is None else frozenset(only)
        self.happened = 0
        self.rates = rates or FaultRates()
        self.planned: Callable[[str], Fault] | None = None
        self.raw: int | None = None
        self.calls: Counter[str] = Counter()
        self.made: list[str] = []
        self.counted: Counter[tuple[str, Fault]] = Counter()

    def next(self, operation: str) -> Fault:
        """Return the fault of the next call."""
        self.calls[operation] += 1
        self.made.append(operation)
        fault = self.planned(operation) if self.planned is not None else self._draw(operation)
        if fault is Fault.NONE or not self.happens():
            return Fault.NONE
        self.counted[operation, fault] += 1
        return fault

    def happens(self) -> bool:
        """Count a happening; return whether it takes place."""
        self.happened += 1
        return self._only is None or self.happened in self._only

    def delay_s(self) -> float:
        """Return the duration of a slow call: usually less than a function's timeout."""
        return self._random.choice([2.0, 8.0, 20.0])

    def raw_answer(self, *, after: bool) -> RawAnswer:
        """Return the answer of an intermediary.

        Args:
            after: whether the call took effect.
        """
        answers = AFTER if after else BEFORE
        number = self._random.randrange(len(answers)) if self.raw is None else self.raw % len(answers)
        return RawAnswer(*answers[number])

    def _draw(self, operation: str) -> Fault:
        chance = self._random.random() / (READS_SHARE if operation in READS else 1.0)
        for fault, share in (
            (Fault.CRASH_BEFORE, self.rates.crash / 2),
            (Fault.CRASH_AFTER, self.rates.crash / 2),
            (Fault.REFUSED, self.rates.refusal),
            (Fault.SLOW, self.rates.slowness),
            (Fault.ANSWER_LOST, self.rates.loss / 2),
            (Fault.SENT_TWICE, self.rates.loss / 2),
            (Fault.RAW_BEFORE, self.rates.raw / 2),
            (Fault.RAW_AFTER, self.rates.raw / 2),
        ):
            if chance < share:
                return fault
            chance -= share
        return Fault.NONE
