"""The training plan that a pool follows: as SageMaker described it last, and what that means for the pool.

Source: SageMaker guide, "Training plans utilization for SageMaker training jobs": jobs run in the plan's reserved
capacities, which may have gaps, and instances go from 30 minutes before the end of one. Whether they stay if another
one begins just then is not documented, so each is followed for itself.
"""

from __future__ import annotations

import hashlib

from headway.pool_names import PLAN_INFIX
from headway.reasons import clock_time
from headway_service.ports.table import Absent, Delete, Equals, Key, Put
from headway_service.ports.training_plans import TrainingPlan
from headway_service.store.records.base import LEDGER, Record

CLEARED_MS = 1_800_000
"""How long before the end of a reserved capacity SageMaker takes its instances, ms (guide: 30 minutes)."""

STOP_LEAD_MS = 300_000
"""How long before that what still runs is stopped, ms: the minute until a tick, the two minutes of a stop, and as much
again for a tick that is lost or late."""

_USABLE = ("Scheduled", "Active")
"""Statuses in which SageMaker accepts training jobs for a plan (guide)."""

_TARGET = "training-job"


class Block(Record):
    """A time in which a plan has instances of the pool's type, ms."""

    start_ms: int
    end_ms: int
    count: int

    @property
    def usable_until_ms(self) -> int:
        """Until when jobs run in it, ms: what still runs then is stopped before SageMaker takes the instances."""
        return self.end_ms - CLEARED_MS - STOP_LEAD_MS


class PlanRecord(Record):
    """The training plan of a pool, as SageMaker described it last."""

    pool: str
    arn: str
    #: Pending, Scheduled, Active, Expired or Failed; empty if SageMaker has not described it yet.
    status: str = ""
    #: SageMaker's message on the status.
    message: str = ""
    #: ms; None if SageMaker does not tell.
    end_ms: int | None = None
    #: Instances of the plan that no job gets.
    unhealthy: int = 0
    #: The times in which the pool has instances, in order.
    blocks: tuple[Block, ...] = ()
    #: Why the queue cannot use the plan; empty if it can.
    problem: str = ""
    #: Since when SageMaker reports that there is no such plan, machine time, ms; None if it has not since it last
    #: showed the plan.
    missing_since_ms: int | None = None
    version: int = 1

    @classmethod
    def of(cls, pool: str, arn: str, plan: TrainingPlan) -> PlanRecord:
        """The record of a plan that SageMaker describes.

        Args:
            pool: the pool that follows it.
            arn: the ARN in the configuration.
            plan: the description.
        """
        blocks = [
            Block(start_ms=each.start_ms, end_ms=each.end_ms, count=each.count)
            for each in plan.capacities
            if each.instance_type == _type_of(pool)
            and each.status not in {"Pending", "Failed"}
            and each.start_ms is not None
            and each.end_ms is not None
        ]
        return cls(
            pool=pool,
            arn=arn,
            status=plan.status,
            message=plan.message,
            end_ms=plan.end_ms,
            unhealthy=plan.unhealthy,
            blocks=tuple(sorted(blocks, key=lambda block: (block.start_ms, block.end_ms, block.count))),
            problem=_problem(_type_of(pool), arn, plan),
        )

    @staticmethod
    def key(pool: str) -> Key:
        """Where the plan of a pool is kept."""
        return Key(LEDGER, f"plan#{pool}")

    def put(self, *, was: int | None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was`` (None: none stored)."""
        key = self.key(self.pool)
        return Put(
            item={"pk": key.pk, "sk": key.sk, **self.fields()},
            requires=Absent() if was is None else Equals("version", was),
        )

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.pool), requires=Equals("version", self.version))

    def as_missing(self) -> PlanRecord:
        """It once SageMaker has not found it for so long that there is none."""
        problem = "is not found in this account and region: check its ARN, or remove the pool (`headway config set`)"
        return self.model_copy(update={"problem": problem})

    @property
    def name(self) -> str:
        """The name of the plan."""
        return self.pool.partition(PLAN_INFIX)[2]

    @property
    def digest(self) -> str:
        """Equal for plans that give a pool the same sizes, and the same clause."""
        facts = self.model_dump_json(exclude={"version", "missing_since_ms"})
        return hashlib.sha256(facts.encode()).hexdigest()[:16]

    @property
    def is_over(self) -> bool:
        """Whether no job can be started in it again, as far as SageMaker tells."""
        return bool(self.problem) or self.status in {"Expired", "Failed"}

    def sizes(self, most: int, from_ms: int) -> tuple[tuple[int, int], ...]:
        """From when on its pool has which size: the size at a time, and the changes after it.

        Args:
            most: the largest size by the configuration.
            from_ms: the time, ms.
        """
        blocks = self.blocks if self.status in _USABLE and not self.problem else ()
        edges = {edge_ms for block in blocks for edge_ms in (block.start_ms, block.usable_until_ms)}
        found: list[tuple[int, int]] = []
        for time_ms in sorted({from_ms, *(edge_ms for edge_ms in edges if edge_ms > from_ms)}):
            count = sum(block.count for block in blocks if block.start_ms <= time_ms < block.usable_until_ms)
            size = max(0, min(most, count - self.unhealthy))
            if not found or found[-1][1] != size:
                found.append((time_ms, size))
        return tuple(found)

    def took_instances(self, since_ms: int, ended_ms: int) -> bool:
        """Whether an attempt may have ended as SageMaker took its instances.

        Args:
            since_ms: when the attempt was started, ms.
            ended_ms: when it ended, ms.
        """
        return any(since_ms < block.end_ms and ended_ms >= block.usable_until_ms for block in self.blocks)

    @property
    def clause(self) -> str:
        """What is known of it, for the reasons of jobs that wait for its pool."""
        name = f"the training plan `{self.name}`"
        end = "" if self.end_ms is None else f" at {clock_time(self.end_ms, 0)}"
        if self.problem:
            return f"{name} {self.problem}"
        if not self.status:
            return f"{name} has not been described by SageMaker yet, which takes some minutes at most"
        if self.status == "Expired":
            return f"{name} ended{end}"
        if self.status not in _USABLE:
            return f"{name} is {self.status}" + (f": {self.message}" if self.message else "")
        unhealthy = f", and {self.unhealthy} of its instances are unhealthy" if self.unhealthy else ""
        return f"{name} ends{end}{unhealthy}" if end else f"{name} is {self.status}{unhealthy}"


def _type_of(pool: str) -> str:
    return pool.partition(PLAN_INFIX)[0]


def _problem(instance_type: str, arn: str, plan: TrainingPlan) -> str:
    """Why the queue cannot use a plan; empty if it can."""
    if plan.arn != arn:
        return f"has the ARN {plan.arn} in this account and region: correct the pool's plan (`headway config set`)"
    if _TARGET not in plan.targets:
        return f"is for {' and '.join(plan.targets) or 'no known resource'}, not for training jobs"
    if any(each.ultra_server for each in plan.capacities):
        return "has UltraServers, which the queue does not start jobs on"
    types = {each.instance_type for each in plan.capacities}
    if types and instance_type not in types:
        return f"has only {' and '.join(sorted(types))}: name the pool after that (`headway config set`)"
    return ""
