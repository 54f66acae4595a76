"""A pool of instances, in the configuration document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, Strict, StringConstraints, model_serializer, model_validator
from pydantic.alias_generators import to_camel

from headway_service.config import schedule as schedule_notation
from headway_service.config.base import ConfigModel
from headway_service.validation_messages import explained

MAX_POOL_SIZE = 10_000

POOL_PATTERN = explained(
    r"^(ml\.[a-z0-9-]{1,40}\.[a-z0-9-]{1,20}(\.spot|\.plan\.[a-zA-Z0-9-]{1,64})?|serverless)$",
    "an instance type, such as ml.p5.48xlarge; the type and .spot for spot instances; the type, .plan. and the name of "
    "a training plan; or serverless",
)
"""How pools are named (:mod:`headway.pool_names`)."""

PoolName = Annotated[str, StringConstraints(pattern=POOL_PATTERN)]
Instances = Annotated[int, Field(ge=0, le=MAX_POOL_SIZE)]

PlanArn = Annotated[
    str,
    StringConstraints(
        max_length=2048,
        pattern=explained(
            r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:training-plan/[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}$",
            "the ARN of a training plan, such as arn:aws:sagemaker:us-east-1:123456789012:training-plan/spring",
        ),
    ),
]
"""The ARN of a training plan (service model, TrainingPlanArn and TrainingPlanName)."""


class Pool(ConfigModel):
    """One pool."""

    #: Instances in the pool, outside the entries of its schedule. 0 lets what runs finish and starts nothing. Of a pool
    #: with a plan it is the largest size, and optional.
    size: int = Field(default=MAX_POOL_SIZE, ge=0, le=MAX_POOL_SIZE)
    #: The training plan that gives it its sizes.
    plan: PlanArn | None = None
    #: Other sizes by time of day and week.
    schedule: list[schedule_notation.Entry] = Field(default_factory=list, max_length=schedule_notation.MAX_ENTRIES)
    #: The time zone of the schedule.
    time_zone: schedule_notation.Zone = "UTC"
    #: What happens to running jobs when the pool becomes smaller by its schedule.
    at_shrink: Annotated[schedule_notation.AtShrink, Strict(strict=False)] = schedule_notation.AtShrink.RUN

    @model_validator(mode="after")
    def _schedule_is_clear(self) -> Pool:
        windows = sum(len(set(entry.days)) for entry in self.schedule)
        if windows > schedule_notation.MAX_WINDOWS:
            raise ValueError(
                f"the entries of the schedule begin {windows} times a week; at most {schedule_notation.MAX_WINDOWS} "
                "are possible"
            )
        for index, entry in enumerate(self.schedule):
            if entry.size > MAX_POOL_SIZE:
                raise ValueError(f"schedule.{index}.size must be {MAX_POOL_SIZE} at most")
            if len(set(entry.days)) < len(entry.days):
                raise ValueError(f"schedule.{index}.days names a day twice: name each day once")
        pair = schedule_notation.overlaps(self.schedule)
        if pair is not None:
            raise ValueError(
                f"the entries {pair[0]} and {pair[1]} of the schedule overlap, so the size is not clear: change their "
                "days or times"
            )
        return self

    @model_serializer(mode="wrap")
    def _without_unused(self, as_usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """It is written without the defaults of the members that belong to a schedule, or a plan, that it lacks."""
        told: dict[str, Any] = as_usual(self)
        unused = {"plan"} if self.plan is None else {"size"}
        if not self.schedule:
            unused |= {"schedule", "time_zone", "at_shrink"}
        unused -= self.model_fields_set
        return {name: value for name, value in told.items() if name not in {to_camel(each) for each in unused}}

    @property
    def follows(self) -> bool:
        """Whether its size changes by itself: by a schedule or a training plan."""
        return bool(self.schedule) or self.plan is not None

    @property
    def sizes(self) -> schedule_notation.Schedule:
        """When it has which size."""
        return schedule_notation.Schedule(tuple(self.schedule), self.time_zone, self.size)
