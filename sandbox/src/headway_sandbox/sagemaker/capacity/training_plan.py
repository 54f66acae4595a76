"""One training plan: its reserved blocks, its status by the time, and its members in the API.

Source: model, DescribeTrainingPlan; SageMaker guide, "Training plans utilization for SageMaker training jobs" and
"Training plan details using the API or CLI": a plan is Scheduled before and between its blocks, and Active in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PENDING, SCHEDULED, ACTIVE, EXPIRED, FAILED = "Pending", "Scheduled", "Active", "Expired", "Failed"
USABLE = (SCHEDULED, ACTIVE)
"""A training job can be created for a plan in these (guide)."""
CLEARED_BEFORE_END_S = 1800.0
"""How long before the end of a block its instances go (guide: 30 minutes)."""
MOST_BLOCKS = 5
"""Reserved capacities of a plan (model, ReservedCapacitySummaries)."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A time in which a plan has its instances, in seconds of training time since the epoch."""

    start: float
    end: float

    @property
    def usable_until(self) -> float:
        """When its instances go."""
        return self.end - CLEARED_BEFORE_END_S

    def status(self, now: float) -> str:
        """Return its status as a reserved capacity."""
        return SCHEDULED if now < self.start else ACTIVE if now < self.end else EXPIRED


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """A training plan, as a test sets it."""

    name: str
    instance_type: str
    instance_count: int
    blocks: tuple[Block, ...]
    """Its blocks, in order, with or without gaps."""
    ready_at: float = 0.0
    """Until when it is Pending."""
    failed: bool = False
    unhealthy: int = 0
    """Instances that no job gets."""
    target: str = "training-job"
    """What can use it: a plan has one (model, TargetResources)."""

    def __post_init__(self) -> None:
        edges = [edge for block in self.blocks for edge in (block.start, block.end)]
        is_empty = any(block.start >= block.end for block in self.blocks)
        if not 1 <= len(self.blocks) <= MOST_BLOCKS or is_empty or edges != sorted(edges):
            raise ValueError(f"The plan {self.name} needs 1 to {MOST_BLOCKS} blocks, in order and without overlap.")
        if self.instance_count < 1 or not 0 <= self.unhealthy <= self.instance_count:
            raise ValueError(f"The plan {self.name} needs at least one instance, and unhealthy ones among its own.")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TrainingPlan:
        """Load a plan from the JSON of its fields."""
        return cls(**{**document, "blocks": tuple(Block(**block) for block in document["blocks"])})

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON, for `from_document`."""
        return asdict(self)

    def status(self, now: float) -> str:
        """Return its status."""
        if self.failed:
            return FAILED
        if now < self.ready_at:
            return PENDING
        if now >= self.blocks[-1].end:
            return EXPIRED
        return ACTIVE if self.is_active(now) else SCHEDULED

    def is_active(self, now: float) -> bool:
        """Whether it has instances, also those that go already."""
        return not self.failed and now >= self.ready_at and any(block.status(now) == ACTIVE for block in self.blocks)

    def usable_block(self, now: float) -> Block | None:
        """Return the block in which a job can start; None if there is none now."""
        if not self.is_active(now):
            return None
        return next((block for block in self.blocks if block.start <= now < block.usable_until), None)

    def edges(self) -> list[float]:
        """Return when it becomes or ceases to be Active."""
        return [self.ready_at, *(edge for block in self.blocks for edge in (block.start, block.end))]

    def next_start(self, now: float) -> float | None:
        """Return when a job can start next; None if never again."""
        if self.failed:
            return None
        starts = [max(now, block.start, self.ready_at) for block in self.blocks]
        ends = [block.usable_until for block in self.blocks]
        return next((start for start, end in zip(starts, ends, strict=True) if start < end), None)


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """A plan in the answers of the API."""

    plan: TrainingPlan
    arn: str
    in_use: int
    now: float
    counts_while_scheduled: bool = True
    """Whether its instances are available outside its blocks too. AWS does not document it."""

    def summary(self) -> dict[str, Any]:
        """Return its entry in ListTrainingPlans."""
        plan, now = self.plan, self.now
        idle = not plan.is_active(now) and not self.counts_while_scheduled
        available = 0 if idle else max(0, plan.instance_count - plan.unhealthy - self.in_use)
        return {
            "TrainingPlanArn": self.arn,
            "TrainingPlanName": plan.name,
            "Status": plan.status(now),
            **_duration(sum(block.end - block.start for block in plan.blocks)),
            "StartTime": plan.blocks[0].start,
            "EndTime": plan.blocks[-1].end,
            "UpfrontFee": "0.00",
            "CurrencyCode": "USD",
            "TotalInstanceCount": plan.instance_count,
            "AvailableInstanceCount": available,
            "InUseInstanceCount": self.in_use,
            "TargetResources": [plan.target],
            "ReservedCapacitySummaries": [self._capacity(block) for block in plan.blocks],
        }

    def describe(self) -> dict[str, Any]:
        """Return DescribeTrainingPlan's response."""
        spare = {"UnhealthyInstanceCount": self.plan.unhealthy, "AvailableSpareInstanceCount": 0}
        return {**self.summary(), **spare}

    def _capacity(self, block: Block) -> dict[str, Any]:
        plan_status = self.plan.status(self.now)
        prefix = self.arn.rpartition(":")[0]
        number = self.plan.blocks.index(block)
        return {
            # `headway_sandbox.sagemaker.api.authorization` has the same names.
            "ReservedCapacityArn": f"{prefix}:reserved-capacity/{self.plan.name}{f'-{number + 1}' if number else ''}",
            "ReservedCapacityType": "Instance",
            "InstanceType": self.plan.instance_type,
            "TotalInstanceCount": self.plan.instance_count,
            "Status": plan_status if plan_status in {PENDING, FAILED} else block.status(self.now),
            "AvailabilityZone": f"{self.arn.split(':')[3]}a",
            **_duration(block.end - block.start),
            "StartTime": block.start,
            "EndTime": block.end,
        }


def _duration(seconds: float) -> dict[str, int]:
    return {"DurationHours": int(seconds // 3600), "DurationMinutes": int(seconds % 3600 // 60)}
