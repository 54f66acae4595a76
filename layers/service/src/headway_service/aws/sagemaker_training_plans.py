"""SageMaker's training plans through boto3, with its answers as typed errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway_service.aws.error_codes import FAILED_CALLS, Verdict, classify, code_of, describe
from headway_service.errors import OutcomeUnknown, Throttled
from headway_service.ports.training_plans import ReservedCapacity, TrainingPlan
from headway_service.response_check import check_answers, member

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeTrainingPlanResponseTypeDef, ReservedCapacitySummaryTypeDef

_NOT_FOUND = "ResourceNotFound"
"""Declared by DescribeTrainingPlan (service model)."""

_ULTRA_SERVER = "UltraServer"


class SageMakerTrainingPlans:
    """:class:`headway_service.ports.training_plans.TrainingPlans` on SageMaker.

    Args:
        client: for all calls.
    """

    def __init__(self, client: SageMakerClient) -> None:
        self._client = check_answers(client)

    def describe(self, name: str) -> TrainingPlan | None:
        """See :class:`headway_service.ports.training_plans.TrainingPlans`."""
        try:
            answer = self._client.describe_training_plan(TrainingPlanName=name)
            for needed in ("TrainingPlanArn", "Status"):
                member(answer, needed)
            return _parse(answer)
        except FAILED_CALLS as error:
            verdict = classify(error, self._client.meta.service_model)
            if verdict is Verdict.REFUSED and code_of(error) == _NOT_FOUND:
                return None
            throttled = verdict is Verdict.THROTTLED
            raise (Throttled if throttled else OutcomeUnknown)(describe(error)) from error


def _parse(answer: DescribeTrainingPlanResponseTypeDef) -> TrainingPlan:
    return TrainingPlan(
        arn=answer["TrainingPlanArn"],
        status=answer["Status"],
        message=answer.get("StatusMessage", ""),
        end_ms=_ms(answer.get("EndTime")),
        unhealthy=answer.get("UnhealthyInstanceCount", 0),
        targets=tuple(answer.get("TargetResources", ())),
        capacities=tuple(_capacity(each) for each in answer.get("ReservedCapacitySummaries", ())),
    )


def _capacity(summary: ReservedCapacitySummaryTypeDef) -> ReservedCapacity:
    return ReservedCapacity(
        instance_type=member(summary, "InstanceType"),
        count=member(summary, "TotalInstanceCount"),
        status=member(summary, "Status"),
        start_ms=_ms(summary.get("StartTime")),
        end_ms=_ms(summary.get("EndTime")),
        ultra_server=summary.get("ReservedCapacityType") == _ULTRA_SERVER or "UltraServerType" in summary,
    )


def _ms(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp() * 1000)
