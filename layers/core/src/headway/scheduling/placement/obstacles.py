"""What keeps a job from its instances. The reason of a job that waits is made of its obstacle.

Nothing changes these values. They are not frozen, as a decision makes one for each job of a long queue, which would
take three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.budgets.budget import Spent
from headway.model import Demand, WaitingJob
from headway.reasons import Reason
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination
from headway.scheduling.backfill.size_changes import SizeClaim
from headway.scheduling.limits import is_limit
from headway.scheduling.placement.ground import combination


@dataclass(kw_only=True, slots=True)
class ObstacleBase:
    """What keeps a job from its instances."""

    #: The job on the alternative that it would get them on.
    job: WaitingJob


@dataclass(kw_only=True, slots=True)
class Ineligible(ObstacleBase):
    """The job could not start even if all instances were free."""

    #: Makes the reason.
    why: Callable[[], Reason]


@dataclass(kw_only=True, slots=True)
class OverBudget(Ineligible):
    """Nothing is left of a budget that the job takes from."""

    spent: Spent


@dataclass(kw_only=True, slots=True)
class Paused(ObstacleBase):
    """A pool that the job demands is paused."""

    pool: str


@dataclass(kw_only=True, slots=True)
class Behind(ObstacleBase):
    """The job waits behind the first blocked job of its combination of pools."""

    pools: Combination


@dataclass(kw_only=True, slots=True)
class Unlaunchable(ObstacleBase):
    """SageMaker did not launch the job the last times."""

    #: The job on the alternatives that it is tried on, the next one first.
    tried: tuple[WaitingJob, ...]
    #: When it may be tried next at the earliest, ms.
    next_ms: int


@dataclass(kw_only=True, slots=True)
class BlockedBase(ObstacleBase):
    """A start is reserved for the job, if it is among the first of its combination of pools."""

    #: What it needs beyond its reservation and the instances that are being freed for it.
    need: Demand

    @property
    def combination(self) -> Combination:
        """The pools, or team limits, among whose jobs it waits."""
        return combination(self.job.demand)

    @property
    def kept(self) -> Demand:
        """The part of its need that is kept for it if the time of its start is not known."""
        return self.need

    @property
    def stops_others(self) -> bool:
        """Whether its start may count on attempts that are stopped, or warm pools that are released, for it."""
        return True


@dataclass(kw_only=True, slots=True)
class HasPlace(BlockedBase):
    """An unlaunchable job that has its place in the queue waits for instances that come free by themselves."""

    @property
    def stops_others(self) -> bool:
        """It stops nobody, and no warm pool is released to make room for it."""
        return False


@dataclass(kw_only=True, slots=True)
class BacksOff(BlockedBase):
    """The job is not started before a time."""


@dataclass(kw_only=True, slots=True)
class Lacking(BlockedBase):
    """Instances are lacking, and no set of attempts that may be stopped frees them."""

    lacking: Demand


@dataclass(kw_only=True, slots=True)
class AtLimit(Lacking):
    """A limit of the job has no more left. It blocks jobs with that limit only, unless the start is known."""

    @property
    def limits(self) -> Demand:
        """What the limits lack, by limit."""
        return {pool: count for pool, count in self.lacking.items() if is_limit(pool)}

    @property
    def combination(self) -> Combination:
        """See :attr:`BlockedBase.combination`."""
        return combination(self.kept)

    @property
    def kept(self) -> Demand:
        """See :attr:`BlockedBase.kept`."""
        return {pool: count for pool, count in self.need.items() if is_limit(pool)}


@dataclass(kw_only=True, slots=True)
class OutlastsSize(BlockedBase):
    """The job would still run when a pool becomes too small for it."""

    claim: SizeClaim


@dataclass(kw_only=True, slots=True)
class WouldDelay(BlockedBase):
    """The job would delay a reserved start."""

    head: ReservedStart
    #: Whether it would start only when attempts have stopped, so that its own start is not known.
    is_after_stops: bool = False
    #: Whether it would not delay it with a shorter limit, as the attempts are opportunistic.
    is_for_limit: bool = False


@dataclass(kw_only=True, slots=True)
class WaitsForBetter(BlockedBase):
    """The job could start on another alternative, and waits for this one."""

    #: The job on the alternative that it could start on.
    instead_of: WaitingJob
    #: Until when it waits for a better one, ms.
    until_ms: int


Blocked = BacksOff | Lacking | OutlastsSize | WouldDelay | WaitsForBetter
"""What keeps a job from its instances that others wait behind."""

Obstacle = Ineligible | Paused | Behind | Unlaunchable | Blocked
