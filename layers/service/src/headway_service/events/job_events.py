"""The events on the event bus. Pure; ``docs/reference/events.md`` describes them.

``docs/reference/events.schema.json`` is made from these models. Fields, codes and detail types may be added at
any time; whatever else changes needs another ``schemaVersion``.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from headway.lifecycle import JobState
from headway.reasons import ReasonCode, outside_gone
from headway.reasons.remedies import remedy_for
from headway_service.actions.action import ActionRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.digest import DigestRecord
from headway_service.store.records.job import JobRecord

SOURCE = "headway"
"""``source`` of all events."""


class JobEvent(BaseModel):
    """What all events have in their ``detail``."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        field_title_generator=lambda name, _: to_camel(name),
    )

    DETAIL_TYPE: ClassVar[str]
    #: Whether a message is sent whatever reasons the policy selects.
    IS_ALWAYS_NOTIFIED: ClassVar[bool] = False

    schema_version: Literal["1"] = "1"
    id: str = Field(description="Identifies the change; a repeated event has the same id.")
    version: int = Field(description="Puts the changes of one job in order; it grows, perhaps by more than one.")
    time: AwareDatetime = Field(description="When it happened.")
    code: str = Field(description="The kind of reason. Further kinds may come at any time.")
    message: str = Field(description="The reason in a sentence. It may quote a message of SageMaker.")
    remedy: str | None = Field(description="What to do; null if there is nothing to do.")
    team: str | None = Field(description="The team that is charged; null if none.")

    @property
    @abstractmethod
    def subject(self) -> str:
        """The job that has changed. The events of one subject are published in order."""

    def detail(self) -> str:
        """``detail`` as it is sent."""
        return json.dumps(self.document(), ensure_ascii=False, separators=(",", ":"))

    def document(self) -> dict[str, Any]:
        """``detail`` as a document."""
        return self.model_dump(mode="json", by_alias=True)


class JobChange(JobEvent):
    """A job in the queue has changed."""

    DETAIL_TYPE: ClassVar[str] = "Headway Job Change"

    job_name: str
    job_state: JobState = Field(description="Its state from now on.")
    previous_state: JobState | None = Field(description="Its state before; null for a new job.")
    attempt_name: str | None = Field(description="The training job that it is about; null for none.")
    attempt_count: int = Field(description="Training jobs that were launched for it so far.")
    jobs: tuple[str, ...] = Field(description="Other jobs that the message names.")
    priority: int
    owner: str | None = Field(description="ARN of who submitted it.")

    @property
    def subject(self) -> str:
        """See :class:`JobEvent`."""
        return self.job_name


class RogueJobChange(JobEvent):
    """A training job that did not come through the queue was seen, is treated otherwise than before, or is gone."""

    DETAIL_TYPE: ClassVar[str] = "Headway Rogue Job Change"

    training_job_name: str
    training_job_arn: str
    training_job_status: str = Field(description="SageMaker's, when it was seen last.")
    live: bool = Field(description="Whether it is still there.")
    demand: dict[str, int] = Field(description="Its instances per type.")
    charged: dict[str, int] = Field(description="Those of them that are missing in the pools meanwhile.")

    @property
    def subject(self) -> str:
        """See :class:`JobEvent`."""
        return self.training_job_name


class _DigestPart(BaseModel):
    model_config = JobEvent.model_config


class DigestTeam(_DigestPart):
    """What a team has used in a week."""

    team: str | None = Field(description="Null for jobs without a team.")
    jobs: int = Field(description="Jobs that ended.")
    attempts: int = Field(description="Attempts that ended.")
    preemptions: int
    used_hours: float = Field(description="Instance hours of attempts that have ended.")
    lost_hours: float = Field(description="Those of them that preemptions and failures lost.")
    running_hours: float = Field(description="Instance hours of attempts that still run.")
    wait_p50_seconds: int | None = Field(description="Half of the jobs waited no longer than this for their start.")
    wait_p90_seconds: int | None = Field(description="Nine of ten did not.")
    # A digest that was written by an earlier release has neither.
    wait_p90_before_seconds: tuple[int, ...] = Field(
        default=(), description="The same of the two weeks before, the earlier one first; 0 if no job started."
    )
    waits_grow: bool = Field(
        default=False, description="Whether waits have grown by a quarter from week to week, to an hour or more."
    )
    cost: float | None = Field(description="Of the billed hours that have a price; null without.")
    # A digest that was written by an earlier release has none.
    lost_cost: float | None = Field(default=None, description="Its part for what was lost; null if it is not known.")
    unpriced_hours: float = Field(description="Instance hours that have none.")


class DigestJob(_DigestPart):
    """A job that has ended in the week, and has lost much."""

    job_name: str
    team: str | None
    job_state: JobState
    lost_hours: float = Field(description="Instance hours over its whole life.")
    preemptions: int


class DigestAdvice(_DigestPart):
    """Advice on a job that has ended in the week."""

    job_name: str
    code: str
    finding: str
    remedy: str
    figures: tuple[str, ...]


class DigestPrice(_DigestPart):
    """A price that costs were computed with."""

    pool: str
    since: date = Field(description="The first day of the price.")
    per_hour: float


class WeeklyDigest(JobEvent):
    """What teams have used in a week. It is of no job, and its ``version`` is always 1."""

    DETAIL_TYPE: ClassVar[str] = "Headway Weekly Digest"
    IS_ALWAYS_NOTIFIED: ClassVar[bool] = True

    first: date = Field(description="The first UTC day.")
    last: date = Field(description="The last UTC day.")
    teams: tuple[DigestTeam, ...] = Field(description="Those with the most hours first.")
    more_teams: int = Field(description="Teams that are left out.")
    jobs: tuple[DigestJob, ...] = Field(description="Those that have lost the most.")
    advice: tuple[DigestAdvice, ...]
    currency: str | None = Field(description="Of the costs; null if nothing has a price.")
    prices: tuple[DigestPrice, ...]

    @property
    def subject(self) -> str:
        """See :class:`JobEvent`."""
        return f"{self.first} to {self.last}"


class OperatorAction(JobEvent):
    """What an operator has done to the whole queue. It is of no job, and its ``version`` is always 1."""

    DETAIL_TYPE: ClassVar[str] = "Headway Operator Action"

    action: str = Field(description="The kind of action. Further kinds may come at any time.")
    target: str = Field(description="What it was done to: a pool, a version of the configuration, a training job.")
    by: str = Field(description="Who has done it; empty if AWS's own records name who.")
    reason: str = Field(description="The reason given; empty for none.")

    @property
    def subject(self) -> str:
        """See :class:`JobEvent`."""
        return self.target


EVENTS: tuple[type[JobEvent], ...] = (JobChange, RogueJobChange, WeeklyDigest, OperatorAction)
"""All kinds of events."""


def job_event(new: JobRecord, old: JobRecord | None) -> JobChange | None:
    """The event of a write of a job's item; None if it added no step to the job's history.

    Args:
        new: the new record.
        old: the previous record; None for a new one.
    """
    if not new.history or (old is not None and old.history == new.history):
        return None
    if old is not None and old.owner != new.owner:
        # The owner is forgotten, and the history names others less.
        return None
    step = new.history[-1]
    return JobChange(
        id=f"{new.job_name}/{new.version}",
        version=new.version,
        time=datetime.fromtimestamp(step.time_ms / 1000, UTC),
        code=step.reason.code,
        message=step.reason.message,
        remedy=remedy_for(step.reason.code),
        team=new.team or None,
        job_name=new.job_name,
        job_state=new.job_state,
        previous_state=old.job_state if old else None,
        attempt_name=step.attempt_name,
        attempt_count=new.attempt_count,
        jobs=step.reason.jobs,
        priority=new.priority,
        owner=new.owner,
    )


def rogue_job_event(new: RogueJobRecord | None, old: RogueJobRecord | None, now_ms: int) -> RogueJobChange | None:
    """The event of a write of a rogue training job's item; None if its reason is the same.

    Args:
        new: the new record; None if it was deleted.
        old: the previous record; None for a new one.
        now_ms: when it was written.
    """
    told = new or old
    if told is None or (new and old and new.reason == old.reason):
        return None
    reason = told.reason if new else ReasonRecord.of(outside_gone(told.charged))
    version = told.version if new else told.version + 1
    return RogueJobChange(
        # By when it was first seen: a training job may be seen again after it was taken for gone.
        id=f"{told.training_job_name}/{told.since_ms}/{version}",
        version=version,
        time=datetime.fromtimestamp(now_ms / 1000, UTC),
        code=reason.code,
        message=reason.message,
        remedy=remedy_for(reason.code),
        team=told.team or None,
        training_job_name=told.training_job_name,
        training_job_arn=told.arn,
        training_job_status=told.training_job_status,
        live=new is not None,
        demand=told.demand,
        charged=told.charged,
    )


def digest_event(record: DigestRecord) -> WeeklyDigest:
    """The event of a digest."""
    return WeeklyDigest.model_validate_json(record.detail)


def action_event(record: ActionRecord) -> OperatorAction:
    """The event of an action. It does not say from which address: the feed is for everybody who may list jobs."""
    return OperatorAction(
        id=record.id,
        version=1,
        time=datetime.fromtimestamp(record.time_ms / 1000, UTC),
        code=ReasonCode.OPERATOR_ACTION,
        message=record.message,
        remedy=remedy_for(ReasonCode.OPERATOR_ACTION),
        team=None,
        action=record.kind,
        target=record.target,
        by=record.by,
        reason=record.reason,
    )


def schema() -> dict[str, Any]:
    """The JSON schema of each ``detail``, by ``detail-type``."""
    _, definitions = models_json_schema([(kind, "serialization") for kind in EVENTS], by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The detail of Headway's events, by detail-type",
        "source": SOURCE,
        "oneOf": [{"title": kind.DETAIL_TYPE, "$ref": f"#/$defs/{kind.__name__}"} for kind in EVENTS],
        **definitions,
    }
