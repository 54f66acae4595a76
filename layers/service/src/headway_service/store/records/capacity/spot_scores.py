"""The spot placement scores that EC2 gave last, in one item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headway_service.ports.table import Key, Put
from headway_service.store.records.base import LEDGER, Record

REFRESH_MS = 3_600_000
"""How long a score is not asked for again, machine time, ms."""

FRESH_MS = 7_200_000
"""How long a score counts, machine time, ms: two tries to refresh it may fail."""

KEPT_MS = 86_400_000
"""How long a pool and number of instances that nobody waits for any more takes one of the places, machine time, ms: EC2
limits the configurations of 24 hours."""

MAX_CONFIGURATIONS = 10
"""Pools and numbers of instances that scores are asked for. Others have no score."""


class SpotScore(Record):
    """What EC2 answered for a spot pool and a number of instances."""

    pool: str
    count: int
    #: 1 to 10; None if it gave no score.
    score: int | None = None
    #: When it was asked, ms.
    asked_ms: int


class SpotScoresRecord(Record):
    """All scores. Only reconcile runs write it; if two do, the last one is kept."""

    scores: tuple[SpotScore, ...] = ()

    @staticmethod
    def key() -> Key:
        """Where they are kept."""
        return Key(LEDGER, "scores")

    def put(self) -> Put:
        """The write that stores them."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def later(self, by_ms: int) -> SpotScoresRecord:
        """The scores with times that are so much later, ms."""
        moved = (each.model_copy(update={"asked_ms": each.asked_ms + by_ms}) for each in self.scores)
        return SpotScoresRecord(scores=tuple(moved))

    def fresh(self, now_ms: int) -> Iterator[tuple[tuple[str, int], int]]:
        """The scores that count, each with its pool and number of instances."""
        for each in self.scores:
            if each.score is not None and now_ms - each.asked_ms < FRESH_MS:
                yield (each.pool, each.count), each.score

    def due(self, wanted: Iterable[tuple[str, int]], machine_ms: int) -> tuple[str, int] | None:
        """The pool and number of instances to ask for next; None if none is due.

        Args:
            wanted: those that jobs wait for, the most important first.
        """
        kept = {(each.pool, each.count): each.asked_ms for each in self._kept(machine_ms)}
        known = [each for each in wanted if each in kept]
        overdue = [each for each in known if machine_ms - kept[each] >= REFRESH_MS]
        if overdue:
            return min(overdue, key=lambda each: kept[each])
        if len(kept) >= MAX_CONFIGURATIONS:
            return None
        return next((each for each in wanted if each not in kept), None)

    def with_score(self, found: SpotScore) -> SpotScoresRecord:
        """The scores with a new one, without those that are no longer kept."""
        others = [each for each in self._kept(found.asked_ms) if (each.pool, each.count) != (found.pool, found.count)]
        return SpotScoresRecord(scores=(*others, found))

    def _kept(self, machine_ms: int) -> Iterator[SpotScore]:
        return (each for each in self.scores if machine_ms - each.asked_ms < KEPT_MS)
