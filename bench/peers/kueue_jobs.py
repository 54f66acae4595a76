"""What Kueue's own performance test consists of: its quotas, as pools and teams, and its jobs with when each comes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

POOLS = tuple(f"ml.p{number}.48xlarge" for number in range(1, 6))
TEAMS = tuple(f"team{number}" for number in range(1, 7))
QUOTA, BORROWING = 20, 100
POOL_SIZE = QUOTA * len(TEAMS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A class of jobs of Kueue's test, as each queue gets it."""

    name: str
    count: int
    every_ms: int
    demand: int
    run_ms: int
    priority: int


KINDS = (
    Kind(name="small", count=350, every_ms=100, demand=1, run_ms=200, priority=50),
    Kind(name="medium", count=100, every_ms=500, demand=5, run_ms=500, priority=100),
    Kind(name="large", count=50, every_ms=1200, demand=20, run_ms=1000, priority=200),
)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Submission:
    """A job to come."""

    due_ms: int
    name: str
    kind: Kind = field(compare=False)
    pool: str
    team: str


def configuration(*, teams: bool, min_run_time_s: int = 0) -> dict[str, Any]:
    """The configuration document of Kueue's test.

    Args:
        teams: whether there are teams with guarantees and limits.
        min_run_time_s: for how long a running job is not preempted, s.
    """
    document: dict[str, Any] = {
        "pools": {pool: {"size": POOL_SIZE} for pool in POOLS},
        "preemption": {"minRunTimeSeconds": min_run_time_s},
    }
    if teams:
        guaranteed, limit = dict.fromkeys(POOLS, QUOTA), dict.fromkeys(POOLS, QUOTA + BORROWING)
        document["teams"] = {team: {"guaranteed": guaranteed, "limit": limit} for team in TEAMS}
    return document


def submissions(share: int) -> list[Submission]:
    """All jobs in the order in which they come; with ``share`` n only each n-th part of each class."""
    return sorted(
        Submission(
            due_ms=number * kind.every_ms,
            name=f"{pool.split('.')[1]}-{team}-{kind.name}-{number:03d}",
            kind=kind,
            pool=pool,
            team=team,
        )
        for pool in POOLS
        for team in TEAMS
        for kind in KINDS
        for number in range(kind.count // share)
    )
