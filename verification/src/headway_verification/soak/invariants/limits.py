"""What must hold of limits: of teams and of owners, and of instances that are kept for others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from headway_verification.soak.violations import require

WEEK_S = 7 * 86_400


@dataclass(frozen=True, kw_only=True)
class Limited:
    """The attempts that one limit is of, in one pool: of a team, of an owner, or all but those of a team.

    Attributes:
        pool: the pool.
        team: the team; None for any.
        owner: the mark of the owner; None for any.
        beside: the team that does not count; None for none.
    """

    pool: str
    team: str | None = None
    owner: str | None = None
    beside: str | None = None

    def held(self, attempts: Mapping[str, Mapping[str, Any]]) -> int:
        """Return how many instances they hold together."""
        return sum(each["demand"].get(self.pool, 0) for each in attempts.values() if self._counts(each))

    def _counts(self, attempt: Mapping[str, Any]) -> bool:
        team = attempt.get("team", "")
        return self.team in {None, team} and self.owner in {None, attempt.get("ownedBy", "")} and self.beside != team


class LimitInvariants:
    """Nobody holds more than a limit, or than they held when it was lowered or began.

    A decision made before a limit was lowered may still be executed afterwards.

    Args:
        longest_s: how long that may take, s.
    """

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        #: The limits in force recently, each with the time from which they applied.
        self._recent: list[tuple[float, Mapping[Limited, int]]] = []
        self._bound: dict[Limited, int] = {}

    def check(self, document: str, attempts: Mapping[str, Mapping[str, Any]], now_s: float) -> None:
        """Check what attempts hold.

        Args:
            document: the configuration in force, as JSON; empty for none.
            attempts: the live attempts, by name.
            now_s: the virtual time, s.

        Raises:
            Violated: somebody holds more.
        """
        owners = {each.get("ownedBy", "") for each in attempts.values()}
        limits = dict(_limits_in(document, owners, now_s)) if document else {}
        if not self._recent or self._recent[-1][1] != limits:
            self._recent.append((now_s, limits))
        while len(self._recent) > 1 and self._recent[1][0] < now_s - self._longest_s:
            self._recent.pop(0)
        held = {each: each.held(attempts) for each in limits.keys() | self._bound.keys()}
        for each, count in held.items():
            known = [of.get(each) for _, of in self._recent]
            if None not in known:
                most = max(*(one for one in known if one is not None), self._bound.get(each, 0))
                require(count <= most, f"{each} holds {count} of {most}")
        self._bound = held


@lru_cache(maxsize=8)
def _parsed(document: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(document)
    return found


def _limits_in(document: str, owners: set[str], now_s: float) -> Iterator[tuple[Limited, int]]:
    rules = _parsed(document)
    known = owners - {""}
    for name, team in rules.get("teams", {}).items():
        for pool, count in team.get("limit", {}).items():
            yield Limited(pool=pool, team=name), count
        for pool, count in team.get("limitPerOwner", {}).items():
            yield from ((Limited(pool=pool, team=name, owner=owner), count) for owner in known)
    for pool, count in rules.get("limits", {}).get("instancesPerOwner", {}).items():
        yield from ((Limited(pool=pool, owner=owner), count) for owner in known)
    for (pool, team), count in _kept(rules, now_s).items():
        sizes = rules["pools"].get(pool, {})
        largest = max([sizes.get("size", 0), *(entry["size"] for entry in sizes.get("schedule", []))])
        yield Limited(pool=pool, beside=team), max(0, largest - count)


def _kept(rules: Mapping[str, Any], now_s: float) -> Mapping[tuple[str, str], int]:
    """Return how many instances are kept, by pool and team."""
    kept: Counter[tuple[str, str]] = Counter()
    for name, team in rules.get("teams", {}).items():
        for pool, count in team.get("lend", {}).items():
            kept[pool, name] += team["guaranteed"][pool] - count
    for booking in rules.get("bookings", {}).values():
        # Who gets back what when is not known here.
        if "giveBackAfterSeconds" not in booking and _is_open(booking, now_s):
            kept[booking["pool"], booking["team"]] += booking["instances"]
    return kept


def _is_open(booking: Mapping[str, Any], now_s: float) -> bool:
    begin_s, end_s = (datetime.fromisoformat(booking[name]).timestamp() for name in ("from", "to"))
    weeks = max(0, (now_s - begin_s) // WEEK_S) if booking.get("every") else 0
    return begin_s <= now_s - weeks * WEEK_S < end_s
