"""State-change events on their way: at least once, in no guaranteed order (aws-facts: Events)."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.faults import Faults


@dataclass(order=True, frozen=True)
class _PendingEvent:
    due: float
    number: int
    detail: dict[str, Any] = field(compare=False)


class EventDelivery:
    """Holds event details until they are due. Without faults an event is due at once, in order."""

    def __init__(self, *, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._letters: list[_PendingEvent] = []
        self._count = 0

    def post(self, detail: dict[str, Any], *, now: float, faults: Faults) -> None:
        # Four draws each time, needed or not: turning one fault up doesn't change what the others hit.
        dropped, doubled, delayed = (self._rng.random() for _ in range(3))
        late_s = self._clock.wait_s(self._rng.random() * faults.event_delay_s)
        if dropped < faults.event_drop:
            return
        self._put(detail, now + (late_s if delayed < faults.event_delay else 0.0))
        if doubled < faults.event_duplicate:
            self._put(detail, now + late_s)

    def take(self, now: float, *, faults: Faults) -> list[dict[str, Any]]:
        """The details that are due by `now`, removed."""
        due = []
        while self._letters and self._letters[0].due <= now:
            due.append(heapq.heappop(self._letters).detail)
        if len(due) > 1 and self._rng.random() < faults.event_shuffle:
            self._rng.shuffle(due)
        return due

    def next_due(self) -> float | None:
        return self._letters[0].due if self._letters else None

    def _put(self, detail: dict[str, Any], due: float) -> None:
        self._count += 1
        heapq.heappush(self._letters, _PendingEvent(due, self._count, detail))

    def to_document(self) -> list[dict[str, Any]]:
        return [{"due": letter.due, "detail": letter.detail} for letter in sorted(self._letters)]

    def load(self, document: list[dict[str, Any]]) -> None:
        for letter in document:
            self._put(letter["detail"], letter["due"])
