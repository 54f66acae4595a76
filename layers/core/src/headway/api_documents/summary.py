"""The summary: one picture of the queue, for boards that show it again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.jobs import Reason
from headway.api_documents.pools import BudgetUse, PoolUse, TeamUse
from headway.api_documents.values import Instances, Time
from headway.lifecycle import JobState


@dataclass(frozen=True, kw_only=True)
class PoolSummary(PoolUse):
    """How a pool is used, in instances, and by which teams."""

    by_team: Annotated[Mapping[str, int], Member("The part of allocated that each team holds; empty name: no team.")]


@dataclass(frozen=True, kw_only=True)
class JobCounts(ApiDocument):
    """How many jobs there are in each state that is not terminal."""

    waiting: Annotated[int, Member("In queues, each counted to 1000; a job in several queues counts in each.")]
    depending: Annotated[int, Member("Kept back by other jobs or by their array, counted in the same way.")]
    running: int
    stopping: int
    held: Annotated[int, Member("On hold, of the first 1000 jobs that wait, up to 10 s ago.")] = 0
    more_held: Annotated[bool, Member("Whether further jobs wait, which may be on hold, too.")] = False


@dataclass(frozen=True, kw_only=True)
class RunningJob(ApiDocument):
    """A job that holds instances."""

    job_name: str
    attempt_name: str
    job_state: Annotated[JobState, Member("`running` or `stopping`.")]
    status: Annotated[str | None, Member("SecondaryStatus of its training job; null until SageMaker shows it.")]
    team: str | None
    priority: int
    demand: Instances
    started_time: Annotated[Time, Member("When the attempt got its instances.")]
    ends_by: Annotated[Time | None, Member("When it has ended at the latest; null if nothing limits it.")]
    stopping_since: Time | None
    stop_cause: Annotated[str | None, Member("Why it is stopped, such as `preemption`; null if it is not.")]
    stops_for: Annotated[str | None, Member("The job that it is preempted for.")]
    owner: Annotated[str | None, Member("ARN of who submitted it; null if it was started by an earlier release.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class WaitingHead(ApiDocument):
    """A job at the front of its queues."""

    job_name: str
    team: str | None
    priority: int
    demand: Instances
    entry_time: Time
    place: Annotated[
        int | None,
        Member(
            "Position in the queue, 1 being next; null if it can't start as it is. It counts the members of arrays "
            "that are not in the queue yet."
        ),
    ]
    reason: Reason
    start_by: Annotated[Time | None, Member("Its reserved start; null if it has none.")]
    expected_start: Annotated[Time | None, Member("By the forecast of `forecastTime`; null if that has none.")]


@dataclass(frozen=True, kw_only=True)
class RecentlyEnded(ApiDocument):
    """A job that ended recently."""

    job_name: str
    job_state: JobState
    team: str | None
    priority: int
    demand: Instances
    started_time: Annotated[Time | None, Member("Start of its first attempt.")]
    ended_time: Time
    preemptions: int
    reason: Reason
    owner: Annotated[str | None, Member("ARN of who submitted it.")] = None


@dataclass(frozen=True, kw_only=True)
class RecentEvent(ApiDocument):
    """What happened to a job that holds instances, or to one that ended recently."""

    time: Time
    kind: Annotated[str, Member("`started`, `stopping`, `completed`, `failed` or `stopped`; new ones may come.")]
    job_name: str
    message: Annotated[str, Member("One sentence for people.")]


@dataclass(frozen=True, kw_only=True)
class Summary(ApiDocument):
    """One picture of the queue. All lists have limits."""

    version: Annotated[str, Member("The same as long as the rest is the same; the `ETag`, without its quotes.")]
    pools: tuple[PoolSummary, ...]
    teams: Annotated[tuple[TeamUse, ...], Member("By name; none if the configuration has no teams.")]
    budgets: Annotated[tuple[BudgetUse, ...], Member("By name; none if the configuration has no budgets.")] = field(
        default_factory=tuple
    )
    counts: JobCounts
    running: Annotated[tuple[RunningJob, ...], Member("At most 500: those that stop, then those that end soonest.")]
    more_running: int
    waiting: Annotated[tuple[WaitingHead, ...], Member("The first 20 of each queue, at most 200, in rank order.")]
    more_waiting: Annotated[bool, Member("Whether others wait behind these.")]
    ended: Annotated[tuple[RecentlyEnded, ...], Member("The newest 20.")]
    events: Annotated[tuple[RecentEvent, ...], Member("The newest 50, the newest first.")]
    forecast_time: Annotated[Time | None, Member("When the forecast was made; null if none was made lately.")]
