"""The pools, their use, and the configuration that defines them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import Instances, Time


@dataclass(frozen=True, kw_only=True)
class Pause(ApiDocument):
    """Nothing is started, and nothing preempted, until it is resumed."""

    everything: Annotated[bool, Member("Whether all pools are paused, not this one alone.")]
    by: Annotated[str, Member("Who paused it, such as user/ada.")]
    since: Time
    reason: str
    stops: Annotated[bool, Member("Whether running jobs are stopped and requeued.")]


@dataclass(frozen=True, kw_only=True)
class SizeChange(ApiDocument):
    """A pool gets another size by its schedule or its training plan."""

    size: int
    time: Time


@dataclass(frozen=True, kw_only=True)
class BookingOf(ApiDocument):
    """Instances of a pool that are kept for some jobs."""

    name: Annotated[str, Member("Of the booking; or the guarantee of a team that it does not lend.")]
    instances: int
    kept: Annotated[int, Member("How many are kept now: fewer when some were given back, 0 outside its windows.")]
    team: Annotated[str | None, Member("Whose jobs they are kept for; null for any.")]
    owner: Annotated[str | None, Member("ARN of the caller whose jobs they are kept for; null for any.")] = None
    tag: Annotated[str | None, Member("The tag of the jobs that they are kept for; null for any.")] = None
    begin: Annotated[Time | None, Member("Of its window that is open, or the next; null if always, or over.")] = None
    end: Annotated[Time | None, Member("Of the same window.")] = None
    weekly: bool = False


@dataclass(frozen=True, kw_only=True)
class PoolUse(ApiDocument):
    """How a pool is used, in instances."""

    pool: str
    size: int
    allocated: Annotated[int, Member("Held by jobs.")]
    stopping: Annotated[int, Member("Part of allocated.")]
    reserved: Annotated[int, Member("Freed for a waiting job.")]
    rogue: Annotated[int, Member("Taken by training jobs outside the queue.")]
    free: Annotated[int, Member("Negative while more is in use than the pool has.")]
    waiting: Annotated[int, Member("Jobs that wait for it, counted to 1000.")]
    pause: Annotated[Pause | None, Member("Null unless it, or everything, is paused.")]
    next_change: Annotated[SizeChange | None, Member("Its next size; null without a schedule or a plan.")] = None
    warm: Annotated[
        int, Member("Kept by warm pools of ended jobs; allocated as well while a job may be using one of them.")
    ] = 0
    plan: Annotated[
        str, Member("What is known of the training plan that it follows, as a clause; empty if it follows none.")
    ] = ""
    bookings: Annotated[tuple[BookingOf, ...], Member("What is kept for some jobs, by name.")] = ()


@dataclass(frozen=True, kw_only=True)
class TeamUse(ApiDocument):
    """What a team may use and uses, in instances per pool."""

    team: Annotated[str, Member("Empty for jobs without a team.")]
    weight: Annotated[float, Member("Its use is divided by this before it is compared with that of other teams.")]
    guaranteed: Instances
    limit: Annotated[Mapping[str, int], Member("At most; a pool that is not named has no limit.")]
    used: Annotated[Mapping[str, int], Member("Held by its jobs.")]
    borrowed: Annotated[Mapping[str, int], Member("Part of used, beyond what it is guaranteed.")]
    waiting: Annotated[Mapping[str, int], Member("Jobs that wait; counted until a pool has 1000 over all teams.")]
    used_lately: Annotated[
        float | None,
        Member(
            "The part, 0 to 1, that it used of what all teams used lately; null where past use does not count, and as "
            "long as nothing is known."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class BudgetUse(ApiDocument):
    """What may be used of a budget in its period, and was."""

    name: str
    team: Annotated[str | None, Member("Whose jobs it is for; null for any.")]
    owner: Annotated[str | None, Member("ARN of the caller whose jobs it is for; null for any.")]
    tag: Annotated[str | None, Member("The tag of the jobs that it is for, as in project=thesis; null for any.")]
    period: Annotated[str, Member("week or month, or so many days, as in 30 days.")]
    amount: Annotated[float, Member("In what its charges are: instance hours, or money.")]
    granted: Annotated[float, Member("What is granted beyond it now.")]
    used: Annotated[float, Member("In the period until now; what runs is included.")]
    when_spent: Annotated[str, Member("What becomes of its jobs when nothing is left: hold, after or refuse.")]
    spent_until: Annotated[Time | None, Member("Until when nothing is left; null if something is.")] = None


@dataclass(frozen=True, kw_only=True)
class Capacity(ApiDocument):
    """How the pools are used."""

    pools: tuple[PoolUse, ...]
    teams: Annotated[tuple[TeamUse, ...], Member("By name; none if the configuration has no teams.")] = field(
        default_factory=tuple
    )
    budgets: Annotated[tuple[BudgetUse, ...], Member("By name; none if the configuration has no budgets.")] = field(
        default_factory=tuple
    )


@dataclass(frozen=True, kw_only=True)
class Configuration(ApiDocument):
    """The configuration in effect."""

    settings: Annotated[Mapping[str, Any], Member("The configuration document.", name="document")]
    version: int
