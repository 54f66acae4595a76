"""Requests that the fake SageMaker refuses, with its messages."""

from __future__ import annotations

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, request, spot

P5 = "ml.p5.48xlarge"
MODEL = "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/some-model"
SERVERLESS = {"JobType": "FineTuning", "BaseModelArn": MODEL}
GROUP = {"InstanceGroupName": "g", "InstanceType": P5, "InstanceCount": 1}
SPOT_LIMIT = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3599}


def test_a_name_with_a_wrong_character_is_refused_in_aws_words():
    with pytest.raises(AwsError) as caught:
        FakeSageMaker().create(request("a_b"), now=0.0)
    assert caught.value.code == "ValidationException"
    assert caught.value.message == (
        "1 validation error detected: Value 'a_b' at 'trainingJobName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"TrainingJobName": "a" * 64}, "Member must have length less than or equal to 63"),
        ({"TrainingJobName": ""}, "Member must have length greater than or equal to 1"),
        ({"OutputDataConfig": None}, "Value null at 'outputDataConfig' failed"),
        ({"OutputDataConfig": {}}, "Value null at 'outputDataConfig.s3OutputPath'"),
        ({"RoleArn": "arn:aws:iam::12:role/x"}, "at 'roleArn' failed to satisfy constraint"),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 0}}, "Value '0' at 'stoppingCondition.maxRuntimeInSeconds'"),
        ({"ResourceConfig": on("ml.p99.huge")}, "Member must satisfy enum value set: ["),
        ({"Tags": [{"Key": "k", "Value": "v"}] * 51}, "Member must have length less than or equal to 50"),
        ({"Tags": [{"Key": "", "Value": "v"}]}, "at 'tags.1.member.key'"),
        ({"Tags": [{"Key": "k", "Value": "v"}] * 2}, "Duplicate tag keys"),
        ({"Tags": [{"Key": "aws:x", "Value": "v"}]}, "reserved for system use"),
        ({"RetryStrategy": {"MaximumRetryAttempts": 31}}, "Member must have value less than or equal to 30"),
        ({"ResourceConfig": None}, "Value null at 'resourceConfig'"),
        ({"ResourceConfig": {"VolumeSizeInGB": 30}}, "must have an instance type"),
        ({"ResourceConfig": on(P5, 0)}, "must have an instance type and at least one instance"),
        (
            {"ResourceConfig": {**on(P5), "InstanceGroups": [GROUP]}},
            "cannot be used together",
        ),
        (
            {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}},
            "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true",
        ),
    ],
)  # fmt: skip
def test_a_request_that_breaks_a_rule_is_refused(changes, words):
    document = {**request(), **changes}
    with pytest.raises(AwsError, match=r"^ValidationException") as caught:
        FakeSageMaker().create({key: value for key, value in document.items() if value is not None}, now=0.0)
    assert words in caught.value.message


@pytest.mark.parametrize("condition", [SPOT_LIMIT, {"MaxRuntimeInSeconds": 3600}, {"MaxWaitTimeInSeconds": 86_399}])
def test_the_max_wait_time_of_a_spot_request_is_at_least_its_max_runtime(condition):
    with pytest.raises(AwsError, match=r"It must be present and be greater than or equal to MaxRuntimeInSeconds"):
        FakeSageMaker().create(spot(StoppingCondition=condition), now=0.0)


RETRIED = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3600}


def test_a_request_on_demand_with_retries_may_limit_all_its_attempts_together():
    retries = {"RetryStrategy": {"MaximumRetryAttempts": 3}}
    FakeSageMaker().create(request("a", **retries, StoppingCondition=RETRIED), now=0.0)
    with pytest.raises(AwsError, match=r"greater than or equal to MaxRuntimeInSeconds"):
        FakeSageMaker().create(request("a", **retries, StoppingCondition=SPOT_LIMIT), now=0.0)


def test_several_errors_are_reported_together():
    document = request("a_b", StoppingCondition={"MaxRuntimeInSeconds": 0})
    with pytest.raises(AwsError, match=r"2 validation errors detected: Value 'a_b' .*; Value '0'"):
        FakeSageMaker().create(document, now=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"TrainingJobName": 5},
        {"StoppingCondition": []},
        {"Tags": {"Key": "k"}},
        {"ResourceConfig": on(P5, True)},
        {"HyperParameters": {"epochs": 3}},
    ],
)
def test_a_wrong_json_type_is_a_serialization_exception(changes):
    with pytest.raises(AwsError, match=r"^SerializationException"):
        FakeSageMaker().create(request(**changes), now=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"Unheard": {"of": 1}},
        {"StoppingCondition": None},
        {"ResourceConfig": None, "ServerlessJobConfig": SERVERLESS},
        {"Environment": None},
        {"Tags": None},
    ],
)
def test_optional_and_unknown_members_are_no_errors(changes):
    FakeSageMaker().create(request(**changes), now=0.0)


def test_a_missing_operation_is_named():
    with pytest.raises(AwsError, match=r"UnknownOperationException: The sandbox's SageMaker has no CreateEndpoint."):
        FakeSageMaker().call("CreateEndpoint", {}, now=0.0)
