"""Rogue training jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.jobs import Reason
from headway.api_documents.values import Instances, Time


@dataclass(frozen=True, kw_only=True)
class RogueJob(ApiDocument):
    """A rogue training job: one that did not come through the queue."""

    name: Annotated[str, Member(name="trainingJobName")]
    status: Annotated[str, Member(name="trainingJobStatus")]
    demand: Instances
    charged: Annotated[Mapping[str, int], Member("The part of its demand that is missing in the pools.")]
    team: Annotated[str | None, Member("From its tags.")]
    created_time: Time
    seen_time: Time
    stop_asked_by: Annotated[str | None, Member("The operator who requested its stop.")]
    reason: Reason


@dataclass(frozen=True, kw_only=True)
class RogueJobs(ApiDocument):
    """Rogue training jobs."""

    jobs: Annotated[tuple[RogueJob, ...], Member(name="rogueJobs")]
    more: bool
