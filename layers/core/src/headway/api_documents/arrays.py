"""Arrays: jobs of many members, which differ in their hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import Time
from headway.early_stopping import Goal
from headway.lifecycle import JobState


@dataclass(frozen=True, kw_only=True)
class MedianStopping(ApiDocument):
    """When members of an array are stopped early: if they are worse than the median of others."""

    metric: Annotated[str, Member("The metric that is compared, as MetricDefinitions have it.")]
    goal: Annotated[Goal, Member("Which values of it are better.")]
    step_metric: Annotated[
        str | None, Member("The metric that counts the steps; null if members are compared by training time.")
    ]
    min_members: Annotated[int, Member("How many others must have reached the step.")]
    min_steps: Annotated[int | None, Member("The first step at which a member is compared.")]
    min_training_seconds: Annotated[int | None, Member("The training time from which on a member is compared.")]


@dataclass(frozen=True, kw_only=True)
class ArrayProgress(ApiDocument):
    """How far the members of an array are. Those that are neither unmade nor ended are in the queue, or run."""

    count: Annotated[int, Member("How many members it has.")]
    at_once: Annotated[int | None, Member("How many of them may be in the queue or run at once; null for any number.")]
    max_failures: Annotated[
        int | None, Member("How many may fail before no further one starts; null if failures change nothing.")
    ]
    unmade: Annotated[int, Member("Members whose turn has not come: they are no jobs yet.")]
    completed: int
    failed: Annotated[int, Member("Failed members; those that reached their time limit count.")]
    stopped: Annotated[int, Member("Stopped members; those that were stopped early count.")]
    stopped_early: int = 0
    early_stopping: Annotated[MedianStopping | None, Member("When members are stopped early; null for never.")] = None


@dataclass(frozen=True, kw_only=True)
class ArrayMember(ApiDocument):
    """A member of an array."""

    index: Annotated[int, Member("From 0.")]
    name: Annotated[str, Member("Its name as a job: that of the array, an underscore, and its index.", name="jobName")]
    state: Annotated[JobState, Member(name="jobState")]
    stopped_early: Annotated[bool, Member("Whether it was stopped early.")] = False
    made: Annotated[bool, Member("Whether its turn has come, so that it is a job of its own.")]
    parameters: Annotated[Mapping[str, str], Member("The hyperparameters that the sweep gives it.")]
    metrics: Annotated[
        Mapping[str, float], Member("FinalMetricDataList of its training job, as far as the queue has seen it.")
    ] = field(default_factory=dict)
    attempt: Annotated[
        str | None,
        Member("Its training job: the live one, or the last that ended; of a reused one, that which made its outputs."),
    ] = None
    started_time: Time | None = None
    ended_time: Time | None = None


@dataclass(frozen=True, kw_only=True)
class MemberPage(ApiDocument):
    """Members of an array, by index."""

    array: str
    members: tuple[ArrayMember, ...]
    next_index: Annotated[int | None, Member("The first member of the next page; null at the end.")]
