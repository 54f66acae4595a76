"""What teams used on average until a moment, where past use counts among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from headway.past_use.averages import PastUse, Span, counted_until, known, later
from headway_service.ports.table import Key, Put
from headway_service.store.records.base import LEDGER, Record
from headway_service.store.records.capacity.versioned import VersionedRecord

_MILLIONTHS = 1_000_000
"""The table keeps whole numbers."""


class TeamAverage(Record):
    """The average of a team, and what is unknown of it, in millionths; and since when what it holds counts, ms."""

    since_ms: int
    unknown: int = 0
    average: dict[str, int] = Field(default_factory=dict)


class PastUseRecord(VersionedRecord):
    """The averages of all teams at a moment. Only reconcile runs write it."""

    at_ms: int
    half_life_ms: int
    teams: dict[str, TeamAverage] = Field(default_factory=dict)

    @staticmethod
    def key() -> Key:
        """Where they are kept."""
        return Key(LEDGER, "past")

    @classmethod
    def new(cls, now_ms: int, half_life_ms: int) -> PastUseRecord:
        """The averages when past use begins to count: no team is known."""
        return cls(at_ms=now_ms, half_life_ms=half_life_ms)

    def put(self, *, over_damaged: bool = False) -> Put:
        """The write that stores its next version: see :meth:`put_at`."""
        return self.put_at(self.key(), over_damaged=over_damaged)

    def until(self, now_ms: int, spans: Iterable[Span]) -> dict[str, PastUse]:
        """The averages at a later moment, ms.

        Args:
            spans: what was used and is not in them.
        """
        past = {
            team: PastUse(
                average={pool: value / _MILLIONTHS for pool, value in each.average.items()},
                since_ms=each.since_ms,
                unknown=each.unknown / _MILLIONTHS,
            )
            for team, each in self.teams.items()
        }
        return later(past, self.at_ms, now_ms, spans, self.half_life_ms)

    def with_spans(self, now_ms: int, spans: Iterable[Span], teams: Iterable[str]) -> PastUseRecord:
        """The record with further spans, of the teams that there are now.

        Args:
            spans: what has ended.
            teams: those of the configuration, and the empty name.
        """
        return self._with(known(self.until(now_ms, spans), [*teams], now_ms), now_ms)

    def fading_in(self, half_life_ms: int, now_ms: int, spans: Iterable[Span]) -> PastUseRecord:
        """The record with another half-life from now on.

        Args:
            spans: all that was used and is not in it, what runs included: up to now it fades in the time of before.
        """
        counted = counted_until(self.until(now_ms, spans), now_ms)
        return self._with(counted, now_ms).model_copy(update={"half_life_ms": half_life_ms})

    def _with(self, found: Mapping[str, PastUse], now_ms: int) -> PastUseRecord:
        averages = {
            team: TeamAverage(
                since_ms=each.since_ms, unknown=round(each.unknown * _MILLIONTHS), average=_rounded(each.average)
            )
            for team, each in found.items()
        }
        return self.model_copy(update={"at_ms": now_ms, "teams": averages})


def _rounded(average: Mapping[str, float]) -> dict[str, int]:
    rounded = {pool: round(value * _MILLIONTHS) for pool, value in average.items()}
    return {pool: value for pool, value in rounded.items() if value}
