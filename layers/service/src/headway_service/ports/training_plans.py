"""SageMaker's training plans, as the service needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class ReservedCapacity:
    """Instances that a plan has from one time to another (service model, ReservedCapacitySummary)."""

    instance_type: str
    count: int
    #: Pending, Scheduled, Active, Expired or Failed.
    status: str
    #: ms; None if the response does not have it: the service model does not require it.
    start_ms: int | None = None
    end_ms: int | None = None
    #: Whether the instances are parts of UltraServers.
    ultra_server: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan:
    """The response of DescribeTrainingPlan. What it may lack has a default."""

    arn: str
    #: Pending, Scheduled, Active, Expired or Failed.
    status: str
    message: str = ""
    #: ms.
    end_ms: int | None = None
    #: UnhealthyInstanceCount.
    unhealthy: int = 0
    #: TargetResources: what can use it, such as ``training-job``.
    targets: tuple[str, ...] = ()
    #: In the order of the response.
    capacities: tuple[ReservedCapacity, ...] = ()


class TrainingPlans(Protocol):
    """SageMaker's training plans."""

    def describe(self, name: str) -> TrainingPlan | None:
        """DescribeTrainingPlan; None if SageMaker reports that there is none with that name.

        Raises:
            Throttled: turned away.
            OutcomeUnknown: no answer.
        """
