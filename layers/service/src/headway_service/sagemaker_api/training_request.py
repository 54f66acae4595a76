"""A CreateTrainingJob request, parsed once for all validators."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headway.days import moment_ms
from headway.jobpolicy.retry import MAX_RETRIES
from headway.jobpolicy.training_job import tags_in
from headway.policy import MAX_PREEMPTIONS
from headway.pool_names import SERVERLESS, is_of_plan, plan_of, pool_of
from headway.vectors import total
from headway_service.sagemaker_api.tags import (
    CHECKPOINT_INTERVAL_TAG,
    MAX_CHECKPOINT_INTERVAL_S,
    NOT_BEFORE_TAG,
    PREEMPTIBLE_TAG,
    PREEMPTIONS_TAG,
    PRIORITY_TAGS,
    RETRIES_TAG,
    START_BY_TAG,
    STOP_AT_PLAN_END_TAG,
    TEAM_TAGS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceGroup:
    """Instances of one type that a part of the request demands."""

    #: Path of that part.
    part: str
    #: :data:`headway.pool_names.SERVERLESS` for a serverless job, which counts as one.
    instance_type: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRequest:
    """What the queue reads from a CreateTrainingJob request.

    A member that does not have the shape of SageMaker's model counts as missing. The model check reports it.
    """

    #: The request as submitted, as it is stored and launched.
    raw: Mapping[str, Any]
    name: str
    role: str
    tags: Mapping[str, str]
    #: Place, key and value of each tag, also of one that repeats.
    listed_tags: tuple[tuple[int, str, str], ...]
    groups: tuple[InstanceGroup, ...]
    spot: bool

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> TrainingRequest:
        """Read a request of any shape."""
        listed = raw.get("Tags")
        return cls(
            raw=raw,
            name=_text(raw.get("TrainingJobName")),
            role=_text(raw.get("RoleArn")),
            tags=tags_in(listed),
            listed_tags=tuple(
                (i, key, value)
                for i, tag in enumerate(listed if isinstance(listed, list) else [])
                for key, value in tags_in([tag]).items()
            ),
            groups=_SERVERLESS_JOB if is_serverless(raw) else _groups(raw.get("ResourceConfig")),
            spot=raw.get("EnableManagedSpotTraining") is True,
        )

    def demand(self, pools: Collection[str], *, spot: bool) -> dict[str, int]:
        """Instances per pool. Two groups of one type come from one pool, so their counts add up.

        Of instance preferences it has the instances of all types: what the pools need to have.

        Args:
            pools: the pools that exist.
            spot: whether it runs on spot instances; a job that has left them does not, whatever its request says.
        """
        return total({self.pool_of(group, pools, spot=spot): group.count} for group in self.groups)

    def pool_of(self, group: InstanceGroup, pools: Collection[str], *, spot: bool) -> str:
        """The pool that a group's instances come from.

        Args:
            pools: the pools that exist.
            spot: as for :meth:`demand`.
        """
        return pool_of(group.instance_type, spot=spot, pools=pools, plan=plan_of(self.plan_arn))

    @property
    def plan_arn(self) -> str:
        """The training plan whose instances it asks for; empty for none."""
        return plan_arn(self.raw)

    def stops_for_size(self, demand: Collection[str]) -> bool:
        """Whether it may start although it may still run when its training plan has no instances left.

        Args:
            demand: the pools that it demands.
        """
        asks = "CheckpointConfig" in self.raw or self.tags.get(STOP_AT_PLAN_END_TAG) == "true"
        return asks and any(is_of_plan(pool) for pool in demand)

    @property
    def priorities(self) -> list[tuple[int, str]]:
        """The priorities that the tags give, each with its place among the tags."""
        return self.tagged(PRIORITY_TAGS)

    @property
    def named_teams(self) -> list[tuple[int, str]]:
        """The teams that the tags name, each with its place among the tags."""
        return self.tagged(TEAM_TAGS)

    @property
    def preemptible(self) -> bool:
        """Whether the job may be stopped for another job."""
        return self.tags.get(PREEMPTIBLE_TAG) != "false"

    @property
    def checkpoint_interval_s(self) -> int | None:
        """How often the job writes a checkpoint, s; None if it does not say, or what it says is no such number."""
        return interval_s(self.tags.get(CHECKPOINT_INTERVAL_TAG, ""))

    @property
    def max_preemptions(self) -> int | None:
        """How often the job may be preempted; None if it does not say."""
        return whole_number(self.tags.get(PREEMPTIONS_TAG, ""), MAX_PREEMPTIONS)

    @property
    def max_retries(self) -> int | None:
        """How often the job is retried after failures of one kind; None if it does not say."""
        return whole_number(self.tags.get(RETRIES_TAG, ""), MAX_RETRIES)

    @property
    def not_before_ms(self) -> int | None:
        """When the job enters the queue, ms; None if it does not say."""
        return moment_ms(self.tags.get(NOT_BEFORE_TAG, ""))

    @property
    def start_by_ms(self) -> int | None:
        """By when the job has to have started, ms; None if it does not say."""
        return moment_ms(self.tags.get(START_BY_TAG, ""))

    @property
    def has_preferences(self) -> bool:
        """Whether it has instance preferences: no request that is launched has."""
        resources = self.raw.get("ResourceConfig")
        return isinstance(resources, Mapping) and "InstancePreferences" in resources

    @property
    def warm_pool(self) -> bool:
        """Whether the request has a warm pool."""
        return self.keep_alive_s > 0

    @property
    def keep_alive_s(self) -> int:
        """For how long the request wants the instances to be kept after the job's end, s; 0 if not at all."""
        resources = self.raw.get("ResourceConfig")
        kept_s = resources.get("KeepAlivePeriodInSeconds", 0) if isinstance(resources, Mapping) else 0
        return kept_s if isinstance(kept_s, int) else 0

    def tagged(self, keys: Collection[str]) -> list[tuple[int, str]]:
        """Place and value of each tag that has one of these keys."""
        return [(i, value) for i, key, value in self.listed_tags if key in keys]


def interval_s(value: str) -> int | None:
    """The interval that the value of a tag gives, s; None if it is not a whole number within the limits."""
    return whole_number(value, MAX_CHECKPOINT_INTERVAL_S) or None


def whole_number(value: str, most: int) -> int | None:
    """The number that the value of a tag gives; None if it is none from 0 to ``most``."""
    # SageMaker's model limits the value to 256 characters, so the number of digits needs no limit here.
    if not (value.isascii() and value.isdigit()):
        return None
    return int(value) if int(value) <= most else None


_SERVERLESS_JOB = (InstanceGroup(part="ServerlessJobConfig", instance_type=SERVERLESS, count=1),)


def is_serverless(description: Mapping[str, Any]) -> bool:
    """Whether a training job runs on instances that are not of the account (API reference, ServerlessJobConfig).

    Args:
        description: a CreateTrainingJob request, or the response of DescribeTrainingJob.
    """
    return description.get("ServerlessJobConfig") is not None


def plan_arn(description: Mapping[str, Any]) -> str:
    """The training plan of a training job; empty for none, and for instance preferences, which have plans of their own.

    Args:
        description: a CreateTrainingJob request, or the response of DescribeTrainingJob.
    """
    resources = description.get("ResourceConfig")
    if not isinstance(resources, Mapping) or "InstancePreferences" in resources:
        return ""
    return _text(resources.get("TrainingPlanArn"))


def _groups(resources: Any) -> tuple[InstanceGroup, ...]:
    if not isinstance(resources, Mapping):
        return ()
    parts: list[tuple[str, Any]] = [("ResourceConfig", resources)]
    for name in ("InstanceGroups", "InstancePreferences"):
        listed = resources.get(name)
        if isinstance(listed, list) and listed:
            parts = [(f"ResourceConfig.{name}[{i}]", group) for i, group in enumerate(listed)]
    # The preferences may share one number of instances (API reference, InstancePreference).
    shared = resources.get("InstanceCount")
    return tuple(
        InstanceGroup(part=part, instance_type=instance_type, count=count)
        for part, group in parts
        if isinstance(group, Mapping)
        and isinstance(instance_type := group.get("InstanceType"), str)
        and isinstance(count := group.get("InstanceCount", shared), int)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
