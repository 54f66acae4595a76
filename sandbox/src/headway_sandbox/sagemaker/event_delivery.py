"""Delivery of state-change events: at least once, in no guaranteed order (EventBridge user guide)."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox.sagemaker.faults import Faults


@dataclass(order=True, frozen=True)
class _PendingEvent:
    due: float
    number: int
    detail: dict[str, Any] = field(compare=False)


class EventDelivery:
    """Queues event details until they are due. Without faults an event is due at once, in order."""

    def __init__(self, *, rng: random.Random) -> None:
        self._rng = rng
        self._pending: list[_PendingEvent] = []
        self._count = 0

    def send(self, detail: dict[str, Any], *, now: float, faults: Faults) -> None:
        """Queue an event; faults may drop, delay or duplicate it.

        Args:
            now: The time, s.
            faults: The probabilities.
        """
        # Always four draws, so that changing one fault's probability does not change the events that others hit.
        dropped, doubled, delayed = (self._rng.random() for _ in range(3))
        late_s = self._rng.random() * faults.event_delay_s
        if dropped < faults.event_drop:
            return
        self._put(detail, now + (late_s if delayed < faults.event_delay else 0.0))
        if doubled < faults.event_duplicate:
            self._put(detail, now + late_s)

    def pop_due(self, now: float, *, faults: Faults) -> list[dict[str, Any]]:
        """Remove and return the details that are due.

        Args:
            now: The time, s.
            faults: The probability of a random order.
        """
        due = []
        while self._pending and self._pending[0].due <= now:
            due.append(heapq.heappop(self._pending).detail)
        if len(due) > 1 and self._rng.random() < faults.event_shuffle:
            self._rng.shuffle(due)
        return due

    def next_due(self) -> float | None:
        """When the next event is due, s; None if there is none."""
        return self._pending[0].due if self._pending else None

    def _put(self, detail: dict[str, Any], due: float) -> None:
        self._count += 1
        heapq.heappush(self._pending, _PendingEvent(due, self._count, detail))

    def to_document(self) -> list[dict[str, Any]]:
        """Return the queued events, for `load`."""
        return [{"due": event.due, "detail": event.detail} for event in sorted(self._pending)]

    def load(self, document: list[dict[str, Any]]) -> None:
        """Queue events that `to_document` returned."""
        for event in document:
            self._put(event["detail"], event["due"])
