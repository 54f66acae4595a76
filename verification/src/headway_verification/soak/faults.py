"""What can go wrong beside a call, how often in one life, and how often it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from headway_sandbox.sagemaker.raw_answers import AFTER, BEFORE, RawAnswer


class Fault(StrEnum):
    """What happens to one external call."""

    NONE = "none"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    #: The service turns the call away.
    REFUSED = "refused"
    #: The call has its effect, but the caller gets an error or nothing.
    ANSWER_LOST = "answer lost"
    #: It takes seconds, in which others continue.
    SLOW = "slow"
    #: The client library sent the call twice, as the first got no response; the caller gets the second one's.
    SENT_TWICE = "sent twice"
    #: A proxy answers, and the call does not reach the service.
    RAW_BEFORE = "raw answer before"
    #: The call has its effect, and a proxy answers in the service's place.
    RAW_AFTER = "raw answer after"


READS = frozenset(
    {"GetItem", "Query", "GetParameter", "DescribeTrainingJob", "ListTags", "ListTrainingJobs", "DescribeAlarms"}
)
"""Calls without an effect. Most calls are; their accidents show less, so they are rarer."""

BESIDE = frozenset({"PutEvents", "PublishBatch"})
"""Calls with an effect, but none on jobs."""

READS_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class FaultRates:
    """How often accidents happen in one life, per call that has an effect."""

    crash: float = 0.0
    refusal: float = 0.0
    loss: float = 0.0
    slowness: float = 0.0
    #: The probability that a proxy answers.
    raw: float = 0.0
    #: How often a second scheduler is begun while one runs.
    overlap: float = 0.0
    #: See :class:`headway_verification.soak.cooperative_scheduler.Processes`.
    switch: float | None = None

    @classmethod
    def draw(cls, random: Random) -> FaultRates:
        """Some lives are calm, some are not, and each in its own way."""
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
    """Draws accidents.

    Attributes:
        planned: the fault of each call, if it is planned; otherwise it is random.
        raw: the index of the raw answer, if it is planned; otherwise it is random; see
            :mod:`headway_sandbox.sagemaker.raw_answers`.
        happened: the number of accidents and users' actions so far, with those left out.
        calls: how many calls there were, by operation.
        made: the operations, in the order of the calls.
        counted: how many accidents there were, by operation and kind.
    """

    def __init__(
        self, random: Random, violence: FaultRates | None = None, *, only: Collection[int] | None = None
    ) -> None:
        self._random = random
        #: All else that would happen is left out.
        self._only = None if only is None else frozenset(only)
        self.happened = 0
        self.violence = violence or FaultRates()
        self.planned: Callable[[str], Fault] | None = None
        self.raw: int | None = None
        self.calls: Counter[str] = Counter()
        self.made: list[str] = []
        self.counted: Counter[tuple[str, Fault]] = Counter()

    def next(self, operation: str) -> Fault:
        """What happens to the next call."""
        self.calls[operation] += 1
        self.made.append(operation)
        accident = self.planned(operation) if self.planned is not None else self._draw(operation)
        if accident is Fault.NONE or not self.happens():
            return Fault.NONE
        self.counted[operation, accident] += 1
        return accident

    def happens(self) -> bool:
        """Whether the next thing that would happen does."""
        self.happened += 1
        return self._only is None or self.happened in self._only

    def delay_s(self) -> float:
        """How long a slow call takes: less than a function may live, most of the time."""
        return self._random.choice([2.0, 8.0, 20.0])

    def raw_answer(self, *, after: bool) -> RawAnswer:
        """The responses of a proxy.

        Args:
            after: whether the call had its effect.
        """
        answers = AFTER if after else BEFORE
        number = self._random.randrange(len(answers)) if self.raw is None else self.raw % len(answers)
        return RawAnswer(*answers[number])

    def _draw(self, operation: str) -> Fault:
        chance = self._random.random() / (READS_SHARE if operation in READS else 1.0)
        for accident, share in (
            (Fault.CRASH_BEFORE, self.violence.crash / 2),
            (Fault.CRASH_AFTER, self.violence.crash / 2),
            (Fault.REFUSED, self.violence.refusal),
            (Fault.SLOW, self.violence.slowness),
            (Fault.ANSWER_LOST, self.violence.loss / 2),
            (Fault.SENT_TWICE, self.violence.loss / 2),
            (Fault.RAW_BEFORE, self.violence.raw / 2),
            (Fault.RAW_AFTER, self.violence.raw / 2),
        ):
            if chance < share:
                return accident
            chance -= share
        return Fault.NONE
