"""Training plans as SageMaker describes them: one contract for the fake SageMaker and for the double in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.capacity.training_plan import Block
from headway_sandbox.sagemaker.capacity.training_plan import TrainingPlan as Planned
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.errors import OutcomeUnknown, Throttled
from headway_service.ports.training_plans import ReservedCapacity, TrainingPlan, TrainingPlans
from headway_service.testing.memory_training_plans import MemoryTrainingPlans
from tests.service.raw_http import BODIES, STATUSES, RawServer
from tests.service.world import P5

NOW_S = 1_800_000_000
HOUR_MS = 3_600_000
ARN = FakeSageMaker().arn("").replace("training-job/", "training-plan/spring")
SPRING = TrainingPlan(
    arn=ARN,
    status="Active",
    end_ms=NOW_S * 1000 + 9 * HOUR_MS,
    unhealthy=1,
    targets=("training-job",),
    capacities=tuple(
        ReservedCapacity(
            instance_type=P5,
            count=2,
            status=status,
            start_ms=NOW_S * 1000 + start * HOUR_MS,
            end_ms=NOW_S * 1000 + end * HOUR_MS,
        )
        for status, start, end in [("Active", 0, 3), ("Scheduled", 5, 9)]
    ),
)


def of_the_fake() -> TrainingPlans:
    fleet = FakeSageMaker()
    blocks = tuple(Block(start=NOW_S + a * 3600, end=NOW_S + b * 3600) for a, b in [(0, 3), (5, 9)])
    plan = Planned(name="spring", instance_type=P5, instance_count=2, blocks=blocks, unhealthy=1)
    fleet.put_plan(plan, now=NOW_S)
    return SageMakerTrainingPlans(
        stub_client("sagemaker", lambda operation, request: fleet.call(operation, request, now=NOW_S))
    )


@pytest.mark.parametrize("make", [of_the_fake, lambda: MemoryTrainingPlans(SPRING)], ids=["fake SageMaker", "memory"])
class TestContract:
    def test_a_plan_is_described_with_its_reserved_capacities(self, make: Callable[[], TrainingPlans]) -> None:
        assert make().describe("spring") == SPRING

    def test_a_plan_that_does_not_exist_is_not_found(self, make: Callable[[], TrainingPlans]) -> None:
        assert make().describe("autumn") is None


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


@pytest.fixture(scope="module")
def plans(server: RawServer) -> SageMakerTrainingPlans:
    return SageMakerTrainingPlans(server.client("sagemaker"))


def answered(document: dict[str, Any]) -> TrainingPlan | None:
    return SageMakerTrainingPlans(stub_client("sagemaker", lambda *_: document)).describe("spring")


def test_a_description_with_only_the_required_members_is_read() -> None:
    plan = answered({"TrainingPlanArn": ARN, "TrainingPlanName": "spring", "Status": "Pending"})
    assert plan == TrainingPlan(arn=ARN, status="Pending")


@pytest.mark.parametrize(
    "member", [{"ReservedCapacityType": "UltraServer"}, {"UltraServerType": "ml.u-p6e-gb200x72"}], ids=str
)
def test_reserved_capacity_of_ultra_servers_is_recognized(member: dict[str, Any]) -> None:
    summary = {"ReservedCapacityArn": "x", "InstanceType": P5, "TotalInstanceCount": 4, "Status": "Active", **member}
    plan = answered({"TrainingPlanArn": ARN, "Status": "Active", "ReservedCapacitySummaries": [summary]})
    assert plan is not None
    assert plan.capacities == (ReservedCapacity(instance_type=P5, count=4, status="Active", ultra_server=True),)


@pytest.mark.parametrize("missing", ["InstanceType", "TotalInstanceCount", "Status"])
def test_a_description_that_lacks_a_required_member_is_no_answer(missing: str) -> None:
    summary = {"InstanceType": P5, "TotalInstanceCount": 4, "Status": "Active"}
    del summary[missing]
    with pytest.raises(OutcomeUnknown):
        answered({"TrainingPlanArn": ARN, "Status": "Active", "ReservedCapacitySummaries": [summary]})


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("body", BODIES)
def test_what_is_no_answer_of_sagemaker_proves_nothing(
    server: RawServer, plans: SageMakerTrainingPlans, status: int, body: str
) -> None:
    server.answer(status, BODIES[body])
    with pytest.raises(OutcomeUnknown):
        plans.describe("spring")


def test_throttling_is_recognized(server: RawServer, plans: SageMakerTrainingPlans) -> None:
    server.answer(400, b'{"__type": "ThrottlingException", "message": "Rate exceeded"}')
    with pytest.raises(Throttled):
        plans.describe("spring")
