"""What teams used on average until a moment, where past use counts among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from headway.past_use.averages import PastUse, Span, known, later
from headway_service.ports.table import Absent, Equals, Key, Put
from headway_service.store.records.base import LEDGER, Record

_MILLIONTHS = 1_000_000
"""The table keeps whole numbers."""


class TeamAverage(Record):
    """The average of a team: millionths of instances by pool, and since when the team is known, ms."""

    since_ms: int
    average: dict[str, int] = Field(default_factory=dict)


class PastUseRecord(Record):
    """The averages of all teams at a moment. Only reconcile runs write it."""

    at_ms: int
    half_life_ms: int
    teams: dict[str, TeamAverage] = Field(default_factory=dict)
    version: int = 0

    @staticmethod
    def key() -> Key:
        """Where they are kept."""
        return Key(LEDGER, "past")

    @classmethod
    def new(cls, now_ms: int, half_life_ms: int) -> PastUseRecord:
        """The averages when past use begins to count: no team is known."""
        return cls(at_ms=now_ms, half_life_ms=half_life_ms)

    def put(self) -> Put:
        """The write that stores its next version, on condition that no other run has."""
        key, moved = self.key(), self.model_copy(update={"version": self.version + 1})
        requires = Equals("version", self.version) if self.version else Absent()
        return Put(item={"pk": key.pk, "sk": key.sk, **moved.fields()}, requires=requires)

    def until(self, now_ms: int, spans: Iterable[Span]) -> dict[str, PastUse]:
        """The averages at a later moment, ms.

        Args:
            spans: what was used and is not in them.
        """
        past = {
            team: PastUse(
                average={pool: value / _MILLIONTHS for pool, value in each.average.items()}, since_ms=each.since_ms
            )
            for team, each in self.teams.items()
        }
        return later(past, self.at_ms, now_ms, spans, self.half_life_ms)

    def with_spans(self, now_ms: int, spans: Iterable[Span], teams: Iterable[str], half_life_ms: int) -> PastUseRecord:
        """The record with further spans, of the teams that there are now, and with the half-life from now on.

        Args:
            spans: what has ended.
            teams: those of the configuration, and the empty name.
        """
        found: Mapping[str, PastUse] = known(self.until(now_ms, spans), [*teams], now_ms)
        averages = {
            team: TeamAverage(since_ms=each.since_ms, average=_rounded(each.average)) for team, each in found.items()
        }
        return self.model_copy(update={"at_ms": now_ms, "half_life_ms": half_life_ms, "teams": averages})


def _rounded(average: Mapping[str, float]) -> dict[str, int]:
    rounded = {pool: round(value * _MILLIONTHS) for pool, value in average.items()}
    return {pool: value for pool, value in rounded.items() if value}
