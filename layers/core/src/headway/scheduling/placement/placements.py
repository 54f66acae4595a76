"""The ways in which a job gets all its instances. Vectors are of pools and of limits of its team alike.

Nothing changes these values; see :mod:`~headway.scheduling.placement.obstacles`.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.model import Allocation, Demand, WaitingJob
from headway.scheduling.backfill.size_changes import SizeClaim
from headway.scheduling.placement.ground import NOTHING, TakeOver


@dataclass(kw_only=True, slots=True)
class Want:
    """What a job on one alternative takes if it starts now."""

    job: WaitingJob
    #: What it takes beyond its reservation; negative where that exceeds the demand.
    takes: Demand
    #: What it takes beyond all that is promised to it: later sizes of pools have to have room for that.
    beyond: Demand
    #: When it has ended at the latest, ms; None if nothing limits it.
    until_ms: int | None
    #: The first change of a size that it may not run into; None if it runs into none.
    exceeded: SizeClaim | None


@dataclass(kw_only=True, slots=True)
class PlacementBase:
    """A way in which a job gets all its instances, and nobody takes them from it any more."""

    want: Want
    #: The instances among those that it takes that reserved starts may rely on.
    counted: Demand
    taken_over: TakeOver = NOTHING


@dataclass(kw_only=True, slots=True)
class StartNow(PlacementBase):
    """The job starts."""

    #: The warm pool that it starts in; None for free instances.
    warm: Allocation | None = None
    #: Whether it is stopped for the reserved starts that it would delay.
    opportunistic: bool = False
    #: Whether a budget of it is spent, so that it gives way to every job.
    beyond_budget: bool = False


@dataclass(kw_only=True, slots=True)
class AfterWarmPools(PlacementBase):
    """The instances are there, and warm pools of other teams have to be gone before the job starts."""

    #: These warm pools. Those that are kept are released.
    foreign: tuple[Allocation, ...]
    #: The warm pool that it waits with; None for free instances.
    warm: Allocation | None = None


@dataclass(kw_only=True, slots=True)
class Sources:
    """Where a job that does not fit gets what it needs from."""

    #: The part of its need that it takes of free instances.
    from_spare: Demand
    #: The rest of its need.
    need: Demand
    #: By how much its pools are used beyond their sizes, which has to be freed first.
    overcommitted: Demand
    #: The part of these two that attempts free that are stopping without a preemptor.
    from_unclaimed: Demand
    #: The part that victims have to free, and the victims; none if no set of attempts frees it.
    lacking: Demand
    victims: tuple[Allocation, ...]
    #: The instances among all of these that reserved starts may rely on.
    counted: Demand

    @property
    def suffice(self) -> bool:
        """Whether the job gets all that it needs from them."""
        return not self.lacking or bool(self.victims)

    @property
    def is_after_stops(self) -> bool:
        """Whether attempts have to stop before the job can start."""
        return bool(self.need) or bool(self.overcommitted)


@dataclass(kw_only=True, slots=True)
class AfterStops(PlacementBase):
    """The job gets its instances once attempts have stopped: those that are stopping, and its victims."""

    sources: Sources
    #: When its victims are stopped, ms: now, or after the next checkpoint of one of them.
    stop_ms: int
    #: When the job has surely ended, ms; None if that is not known.
    proven_ms: int | None
    #: Whether it reclaims what its team is guaranteed.
    reclaims: bool


Placement = StartNow | AfterWarmPools | AfterStops
