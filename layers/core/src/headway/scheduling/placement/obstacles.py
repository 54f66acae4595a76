"""What keeps a job from its instances. The reason of a job that waits is made of its obstacle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.model import Demand, WaitingJob
from headway.reasons import Reason
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination
from headway.scheduling.backfill.size_changes import SizeClaim
from headway.scheduling.fair_share import is_limit, limited_pool
from headway.scheduling.placement.ground import combination


@dataclass(frozen=True, kw_only=True, slots=True)
class _Obstacle:
    """What keeps a job from its instances."""

    #: The job on the alternative that it would get them on.
    job: WaitingJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Ineligible(_Obstacle):
    """The job could not start even if all instances were free."""

    #: Makes the reason.
    why: Callable[[], Reason]


@dataclass(frozen=True, kw_only=True, slots=True)
class Paused(_Obstacle):
    """A pool that the job demands is paused."""

    pool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Behind(_Obstacle):
    """The job waits behind the first blocked job of its combination of pools."""

    pools: Combination


@dataclass(frozen=True, kw_only=True, slots=True)
class Unlaunchable(_Obstacle):
    """SageMaker did not launch the job the last times."""

    #: The job on the alternatives that it is tried on, the next one first.
    tried: tuple[WaitingJob, ...]
    #: When it may be tried next at the earliest, ms.
    next_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Blocked(_Obstacle):
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


@dataclass(frozen=True, kw_only=True, slots=True)
class BacksOff(_Blocked):
    """The job is not started before a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lacking(_Blocked):
    """Instances are lacking, and no set of attempts that may be stopped frees them."""

    lacking: Demand


@dataclass(frozen=True, kw_only=True, slots=True)
class AtTeamLimit(Lacking):
    """The team of the job uses all that it may. It blocks its own jobs only, unless the start is known."""

    @property
    def limits(self) -> Demand:
        """What the limits lack, by pool."""
        return {limited_pool(pool)[0]: count for pool, count in self.lacking.items() if is_limit(pool)}

    @property
    def combination(self) -> Combination:
        """See :attr:`Lacking.combination`."""
        return combination(self.kept)

    @property
    def kept(self) -> Demand:
        """See :attr:`Lacking.kept`."""
        return {pool: count for pool, count in self.need.items() if is_limit(pool)}


@dataclass(frozen=True, kw_only=True, slots=True)
class OutlastsSize(_Blocked):
    """The job would still run when a pool becomes too small for it."""

    claim: SizeClaim


@dataclass(frozen=True, kw_only=True, slots=True)
class WouldDelay(_Blocked):
    """The job would delay a reserved start."""

    head: ReservedStart
    #: Whether it would start only when attempts have stopped, so that its own start is not known.
    is_after_stops: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitsForBetter(_Blocked):
    """The job could start on another alternative, and waits for this one."""

    #: The job on the alternative that it could start on.
    instead_of: WaitingJob
    #: Until when it waits for a better one, ms.
    until_ms: int


Blocked = BacksOff | Lacking | OutlastsSize | WouldDelay | WaitsForBetter
"""What keeps a job from its instances that others wait behind."""

Obstacle = Ineligible | Paused | Behind | Unlaunchable | Blocked
