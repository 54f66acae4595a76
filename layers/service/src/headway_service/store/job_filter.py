"""Which jobs are listed?"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from headway.lifecycle import JobState
from headway_service.ports.table import Condition, Contains, Equals, Item, OneOf
from headway_service.store.records.capacity.attempt import AttemptRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFilter:
    """Which jobs are listed: those that match every attribute.

    Attributes:
        states: the job is in one of these states; at least one.
        owners: the job belongs to each of these owners, so with two there is none.
        team: the team that is charged.
        name_contains: a part of the name; case matters.
    """

    states: frozenset[JobState]
    owners: frozenset[str] = frozenset()
    team: str | None = None
    name_contains: str | None = None

    def conditions(self) -> list[Condition]:
        """The filter as conditions on the job's item."""
        found: list[Condition] = [OneOf("jobState", tuple(sorted(self.states)))]
        found += [Equals("owner", owner) for owner in sorted(self.owners)]
        if self.team is not None:
            found.append(Equals("team", self.team))
        if self.name_contains is not None:
            found.append(Contains("jobName", self.name_contains))
        return found

    def matches(self, item: Item) -> bool:
        """Whether a job's item matches, as :meth:`conditions` say it."""
        return (
            item["jobState"] in self.states
            and self.owners <= {item.get("owner")}
            and self._names(item["jobName"], item.get("team", ""))
        )

    def may_match(self, attempt: AttemptRecord) -> bool:
        """Whether the job of an attempt may match: its name and its team do."""
        return self._names(attempt.job_name, attempt.team)

    def _names(self, name: str, team: str) -> bool:
        return self.team in {None, team} and (self.name_contains or "") in name

    def digest(self) -> str:
        """Identifies the filter in a token."""
        text = json.dumps(asdict(self), default=sorted, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
