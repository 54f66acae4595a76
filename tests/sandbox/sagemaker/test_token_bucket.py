from __future__ import annotations

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.token_bucket import Rate, Throttle
from tests.sandbox.fleets import request


def test_a_burst_is_admitted_and_then_the_rate():
    throttle = Throttle({"List": Rate(per_s=2, burst=3)})
    assert [throttle.admits("List", 0.0) for _ in range(5)] == [True, True, True, False, False]
    assert [throttle.admits("List", 0.5), throttle.admits("List", 0.9), throttle.admits("List", 1.0)] == [
        True,
        False,
        True,
    ]
    # The bucket holds at most the burst, after any idle time.
    assert [throttle.admits("List", 1000.0) for _ in range(4)] == [True, True, True, False]
    assert all(throttle.admits("Describe", 0.0) for _ in range(100))


@pytest.mark.parametrize("rate", [{"per_s": 0, "burst": 1}, {"per_s": -1, "burst": 1}, {"per_s": 1, "burst": 0}])
def test_a_rate_that_admits_nothing_is_refused(rate):
    with pytest.raises(ValueError, match="A rate must be above 0"):
        Rate(**rate)


def test_training_jobs_are_listed_twice_a_second_as_on_aws():
    fleet = FakeSageMaker()
    for _ in range(10):
        fleet.list_jobs(now=100.0)
    with pytest.raises(AwsError, match="Rate exceeded") as refused:
        fleet.list_jobs(now=100.0)
    assert refused.value.code == "ThrottlingException"
    for number in range(20):
        fleet.list_jobs(now=101.0 + number / 2)


def test_other_rates_can_be_set():
    settings = SageMakerSettings(rates={"StopTrainingJob": Rate(per_s=1, burst=1)})
    fleet = FakeSageMaker(settings=settings)
    for _ in range(50):
        fleet.list_jobs(now=0.0)
    for expected in ("Requested resource not found", "Rate exceeded"):
        with pytest.raises(AwsError, match=expected):
            fleet.stop("nobody", now=0.0)


@pytest.mark.parametrize(
    ("operation", "document"),
    [
        ("CreateTrainingJob", request()),
        ("DescribeTrainingJob", {"TrainingJobName": "train-1"}),
        ("StopTrainingJob", {"TrainingJobName": "train-1"}),
        ("ListTrainingJobs", {}),
        ("ListTags", {"ResourceArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/train-1"}),
    ],
)
def test_each_operation_can_be_throttled_by_a_rate_while_the_fleet_runs(operation, document):
    fleet = FakeSageMaker()
    fleet.create(request("another"), now=0.0)
    fleet.faults = Faults(rates={operation: {"per_s": 0.1, "burst": 2}})

    def throttled(now: float) -> bool:
        try:
            fleet.call(operation, document, now=now)
        except AwsError as error:
            return error.code == "ThrottlingException"
        return False

    assert [throttled(1.0) for _ in range(3)] == [False, False, True]
    assert [throttled(11.0), throttled(12.0)] == [False, True]
    fleet.faults = Faults()
    assert not any(throttled(100.0) for _ in range(5))


def test_a_configured_rate_replaces_the_default():
    fleet = FakeSageMaker(faults=Faults(rates={"ListTrainingJobs": {"per_s": 100, "burst": 50}}))
    for _ in range(50):
        fleet.list_jobs(now=0.0)
