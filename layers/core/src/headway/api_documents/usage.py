"""Ended jobs and what they used, and sums of usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import (
    Cost,
    EstimatedCost,
    LostCost,
    LostUnpricedSeconds,
    Price,
    SavedCost,
    SavedSeconds,
    Seconds,
    Time,
    UnpricedSeconds,
)
from headway.lifecycle import JobState


@dataclass(frozen=True, kw_only=True)
class EndedJob(ApiDocument):
    """A job that has ended, and what it used."""

    name: Annotated[str, Member(name="jobName")]
    state: Annotated[JobState, Member(name="jobState")]
    team: str | None
    owner: Annotated[str | None, Member("ARN of who submitted it.")]
    priority: int
    entry_time: Annotated[Time, Member("When it was accepted, or when its dependencies were met.")]
    started_time: Annotated[Time | None, Member("Start of its first attempt.")]
    ended_time: Time
    wait_seconds: Annotated[int | None, Member("From its entry to its first start; null if it never started.")]
    run_seconds: Annotated[int | None, Member("From its first start to its end.")]
    attempt_count: int
    preemptions: int
    reused_from: Annotated[str | None, Member("The equal job whose outputs it has.")] = None
    used_seconds: Seconds
    lost_seconds: Annotated[int, Member("Instances times seconds that were lost by preemptions and failures.")]
    billed_seconds: Seconds
    unbilled_seconds: Annotated[
        Mapping[str, int], Member("Of spot instances whose billable time SageMaker has not reported.")
    ] = field(default_factory=dict)
    cost: Cost = None
    unpriced_seconds: UnpricedSeconds = field(default_factory=dict)
    lost_cost: LostCost = None
    lost_unpriced_seconds: LostUnpricedSeconds = field(default_factory=dict)
    saved_seconds: SavedSeconds = field(default_factory=dict)
    saved_cost: SavedCost = None
    estimated_cost: EstimatedCost = None
    currency: Annotated[str | None, Member("Of the costs.")] = None
    prices: Annotated[tuple[Price, ...], Member("The prices of these costs.")] = ()


@dataclass(frozen=True, kw_only=True)
class HistoryPage(ApiDocument):
    """A page of ended jobs, the newest first."""

    jobs: tuple[EndedJob, ...]
    next_token: Annotated[str | None, Member("Where the next page begins; null at the end.")]


@dataclass(frozen=True, kw_only=True)
class Durations(ApiDocument):
    """Quantiles of durations, within 5 %; null if there are none."""

    count: int
    p50_seconds: int | None
    p90_seconds: int | None


@dataclass(frozen=True, kw_only=True)
class UsageSum(ApiDocument):
    """What was used under one name."""

    name: Annotated[str | None, Member("The team, owner, pool or value of the tag; null for jobs without one.")]
    period: Annotated[str | None, Member("The day or the month; null for the whole range.")]
    jobs: Annotated[Mapping[str, int], Member("Jobs that ended, by state.")]
    attempts: Annotated[int, Member("Attempts that ended.")]
    preemptions: int
    reused: Annotated[int, Member("Jobs that have the outputs of equal ones.")]
    used_seconds: Seconds
    lost_seconds: Seconds
    billed_seconds: Seconds
    unbilled_seconds: Annotated[
        Mapping[str, int], Member("Of spot instances whose billable time SageMaker has not reported.")
    ]
    wait: Annotated[Durations, Member("From the entry of jobs to their first start.")]
    run: Annotated[Durations, Member("From the first start of jobs to their end.")]
    running: Annotated[int, Member("Attempts that run. No other figure has them until they end.")] = 0
    running_seconds: Annotated[
        Mapping[str, int], Member("What these have used until `runningUntil`: instances times seconds, by pool.")
    ] = field(default_factory=dict)
    cost: Annotated[float | None, Member("Of the billed time, at the prices of each day; null without.")] = None
    unpriced_seconds: UnpricedSeconds = field(default_factory=dict)
    lost_cost: LostCost = None
    lost_unpriced_seconds: LostUnpricedSeconds = field(default_factory=dict)
    saved_seconds: SavedSeconds = field(default_factory=dict)
    saved_cost: SavedCost = None
    estimated_cost: EstimatedCost = None
    idle_seconds: Annotated[
        Mapping[str, int],
        Member("By pool only: instances times seconds in which instances were idle while jobs waited for the pool."),
    ] = field(default_factory=dict)
    idle_reserved_seconds: Annotated[
        Mapping[str, int], Member("The part of them in which the instances were reserved for a waiting job.")
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PredictionQuality(ApiDocument):
    """How good predictions of run times were, each made by the jobs that had completed before."""

    kept: Annotated[int, Member("Completed jobs whose run times were kept.")]
    predicted: Annotated[int, Member("Those of them that had a prediction.")]
    median_error: Annotated[
        float | None, Member("By how much half of the predictions were off at most, as a part of the run time.")
    ]
    coverage: Annotated[
        float | None, Member("The part of the jobs that ran for a time within their interval; it is to be about 0.8.")
    ]


@dataclass(frozen=True, kw_only=True)
class Usage(ApiDocument):
    """Sums of usage in a range of UTC days."""

    by: str
    first: Annotated[str, Member("The first day.", name="from")]
    last: Annotated[str, Member("The last day.", name="to")]
    step: str
    rows: tuple[UsageSum, ...]
    running_until: Annotated[
        Time | None, Member("Until when the use of running attempts is shown; null if none ran in the range.")
    ] = None
    currency: Annotated[str | None, Member("Of the costs.")] = None
    prices: Annotated[tuple[Price, ...], Member("The prices of these costs.")] = ()
    predictions: Annotated[
        PredictionQuality | None, Member("Of the months of the range; null if it was not asked for, or none were kept.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Recount(ApiDocument):
    """The result of comparing a page of ended jobs with the sums."""

    compared: Annotated[int, Member("Jobs that were compared.")]
    repaired: Annotated[int, Member("Jobs of which the sums lacked something, which they have now.")]
    unreadable: Annotated[
        tuple[str, ...], Member("Damaged jobs, by name: they were left out, so the sums may lack what they used.")
    ] = ()
    next_token: Annotated[str | None, Member("Where the next page begins; null at the end.")]


@dataclass(frozen=True, kw_only=True)
class ScannedJob(ApiDocument):
    """What a job has in a day, as the sums have to have it."""

    name: Annotated[str, Member(name="jobName")]
    sums: Annotated[
        Mapping[str, Mapping[str, int]],
        Member("By team, owner or pool (empty for none): figures as they are stored, times in instances times ms."),
    ]
    complete: Annotated[bool, Member("Whether all of its attempts that may be in the day are kept.")]


@dataclass(frozen=True, kw_only=True)
class UsageComparison(ApiDocument):
    """A page of the comparison of the sums of a day with the jobs: the jobs of all pages have what the sums have."""

    by: str
    day: str
    scanned: Annotated[int, Member("Jobs that were read for this page.")]
    jobs: Annotated[tuple[ScannedJob, ...], Member("Those that have something in the day.")]
    unreadable: Annotated[tuple[str, ...], Member("Damaged jobs, by name, which may have something in the day.")] = ()
    keeps_earlier: Annotated[
        bool,
        Member(
            "Whether a job of this page ended before the day and is kept. If so on any page, the jobs of the day are, "
            "too, unless RetentionDays was lowered and raised again since."
        ),
    ] = False
    stored: Annotated[
        Mapping[str, Mapping[str, int]] | None, Member("The sums of the day, by name; only on the last page.")
    ]
    revision: Annotated[
        int | None, Member("How many repairs of the sums of the month there are; only on the last page.")
    ] = None
    changed: Annotated[bool, Member("Whether the sums have changed since the first page: begin again.")]
    next_token: Annotated[str | None, Member("Where the next page begins; null at the end.")]


@dataclass(frozen=True, kw_only=True)
class UsageRepair(ApiDocument):
    """The result of a repair of the sums of a day."""

    by: str
    day: str
    repaired: Annotated[int, Member("Figures that have the values of the jobs now.")]
    revision: Annotated[int, Member("How many repairs of the sums of the month there are.")]
