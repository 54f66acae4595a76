"""Items of the ledger that this code cannot read, and what they hold nevertheless.

The counter of a pool is changed in the transaction of each item that holds instances. So what it says is held, and no
item that can be read explains, is held by those that cannot: no decision gives it to a job. The other instances of the
pool are used as ever (decision 107).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from headway.job_terms import JobTerms
from headway.model import ROGUE_TEAM, Allocation
from headway.scheduling.ordering import MAX_PRIORITY
from headway.vectors import minus, positive
from headway_service.ports.table import Item

_HOLDING = frozenset({"attempt", "reservation", "rogue", "warm"})
"""The kinds of items that hold instances, by the begin of their keys."""

_LONGEST_MS = 28 * 86_400_000
"""No training job runs longer, ms (API reference, StoppingCondition, MaxRuntimeInSeconds). So those that end before may
pass jobs that wait for what cannot be read."""

UNREADABLE_PAUSE = "the record of its pause, its calendar or its training plan cannot be read"


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableItem:
    """An item of the ledger that this code cannot read.

    Attributes:
        kind: what it is, by the begin of its key.
        name: what it is about, by the rest of its key: an attempt, a job or a pool.
        problem: why it cannot be read.
        demand: the instances that it seems to hold, per pool.
        team: the team that it seems to belong to.
    """

    kind: str
    name: str
    problem: str
    demand: Mapping[str, int] = field(default_factory=dict)
    team: str = ""

    @classmethod
    def of(cls, item: Item, problem: str) -> UnreadableItem:
        """The item, as far as it can be understood.

        Args:
            problem: why it cannot be read.
        """
        kind, _, name = item["sk"].partition("#")
        demand, team = item.get("demand"), item.get("team")
        pools = demand.items() if isinstance(demand, Mapping) else ()
        return cls(
            kind=kind,
            name=name,
            problem=problem,
            demand={pool: count for pool, count in pools if isinstance(count, int) and count > 0},
            team=team if isinstance(team, str) else "",
        )

    @property
    def holds(self) -> bool:
        """Whether items of its kind hold instances."""
        return self.kind in _HOLDING


def unreadable_allocations(
    unreadable: Iterable[UnreadableItem], unexplained: Mapping[str, int], now_ms: int
) -> Iterator[Allocation]:
    """What items hold that cannot be read, as the scheduler sees it: nobody can take it, and when it ends is not known.

    A limit of a team counts what its items seem to hold.

    Args:
        unreadable: the items.
        unexplained: instances that are held by no item that can be read, per pool.
    """
    left = dict(unexplained)
    for each in unreadable:
        takes = positive({pool: min(count, left.get(pool, 0)) for pool, count in each.demand.items()})
        if each.holds and takes:
            left = minus(left, takes)
            yield _allocation(f"{each.kind}#{each.name}", takes, each.team, now_ms)
    if rest := positive(left):
        yield _allocation("unreadable#", rest, ROGUE_TEAM, now_ms)


def _allocation(name: str, demand: Mapping[str, int], team: str, now_ms: int) -> Allocation:
    # No job and no attempt has such a name.
    return Allocation(
        job=name,
        attempt=name,
        demand=demand,
        terms=JobTerms(priority=MAX_PRIORITY, entry_time_ms=now_ms, team=team, limit_ms=_LONGEST_MS, preemptible=False),
        since_ms=now_ms,
        outside=name,
    )
