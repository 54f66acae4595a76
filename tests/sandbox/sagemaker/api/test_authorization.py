from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.api.authorization import denied, permissions
from tests.sandbox.fleets import ROLE, on, request

PREFIX = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/"


def mounts(*sources: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "ChannelName": f"channel-{i}",
            "DataSource": {
                "FileSystemDataSource": {
                    "FileSystemId": name,
                    "FileSystemAccessMode": "ro",
                    "FileSystemType": "EFS",
                    "DirectoryPath": path,
                }
            },
        }
        for i, (name, path) in enumerate(sources)
    ]


def needed(operation, document) -> list[tuple[str, str]]:
    return [(entry.action, entry.resource) for entry in permissions(operation, document, arn_prefix=PREFIX)]


def test_creating_a_tagged_job_needs_three_permissions():
    assert needed("CreateTrainingJob", request()) == [
        ("sagemaker:CreateTrainingJob", f"{PREFIX}train-1"),
        ("sagemaker:AddTags", f"{PREFIX}train-1"),
        ("iam:PassRole", ROLE),
    ]


def test_requests_without_tags_need_no_tagging_permission():
    assert ("sagemaker:AddTags", f"{PREFIX}train-1") not in needed("CreateTrainingJob", request(Tags=[]))


def test_passing_a_role_and_requesting_tags_need_permissions():
    create, tag, give = permissions("CreateTrainingJob", request(), arn_prefix=PREFIX)
    tags = {"aws:RequestTag/team": "vision", "aws:TagKeys": ["team"]}
    assert {key: value for key, value in create.context.items() if key.startswith("aws:")} == tags
    assert tag.context == {**tags, "sagemaker:TaggingAction": "CreateTrainingJob"}
    assert give.context == {"iam:PassedToService": "sagemaker.amazonaws.com"}


PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-4000-8000-000000000000"


def test_a_job_in_a_training_plan_also_needs_permission_on_the_plan_and_its_capacity():
    asked = needed("CreateTrainingJob", request(ResourceConfig={**on("ml.p5.48xlarge"), "TrainingPlanArn": PLAN}))
    assert [resource for action, resource in asked if action == "sagemaker:CreateTrainingJob"] == [
        f"{PREFIX}train-1",
        PLAN,
        "arn:aws:sagemaker:eu-west-1:123456789012:reserved-capacity/spring",
    ]


def test_a_job_that_may_be_in_one_of_several_plans_needs_permission_on_each():
    preferences = [{"InstanceType": "ml.p5.48xlarge", "TrainingPlanArns": [PLAN]}, {"InstanceType": "ml.g5.xlarge"}]
    asked = needed("CreateTrainingJob", request(ResourceConfig={"InstancePreferences": preferences}))
    assert [resource for action, resource in asked if action == "sagemaker:CreateTrainingJob"] == [
        f"{PREFIX}train-1",
        PLAN,
        "arn:aws:sagemaker:eu-west-1:123456789012:reserved-capacity/spring",
    ]


@pytest.mark.parametrize("name", ["spring", PLAN])
def test_describing_a_plan_needs_permission_on_its_arn(name):
    assert needed("DescribeTrainingPlan", {"TrainingPlanName": name}) == [("sagemaker:DescribeTrainingPlan", PLAN)]


def test_permission_checks_on_a_plan_ignore_the_tags_of_the_request():
    document = request(ResourceConfig={**on("ml.p5.48xlarge"), "TrainingPlanArn": PLAN})
    job, *plan = permissions("CreateTrainingJob", document, arn_prefix=PREFIX)[:3]
    assert "aws:RequestTag/team" in job.context
    assert [dict(each.context) for each in plan] == [{}, {}]


@pytest.mark.parametrize(
    ("key", "resource"),
    [
        (KEY, KEY),
        (KEY.rpartition("/")[2], KEY),
        ("alias/volumes", "arn:aws:kms:eu-west-1:123456789012:alias/volumes"),
    ],
)
def test_a_volume_key_needs_a_grant_which_the_jobs_role_may_also_create(key, resource):
    document = request(ResourceConfig={**on("ml.p5.48xlarge"), "VolumeKmsKeyId": key})
    *_, grant = permissions("CreateTrainingJob", document, arn_prefix=PREFIX)
    assert (grant.action, grant.resource, grant.or_role) == ("kms:CreateGrant", resource, ROLE)


def test_the_keys_of_a_request_can_be_conditions():
    document = request(
        ResourceConfig={**on("ml.p5.48xlarge"), "VolumeKmsKeyId": KEY},
        OutputDataConfig={"S3OutputPath": "s3://jobs/output", "KmsKeyId": "alias/output"},
    )
    create, *others = permissions("CreateTrainingJob", document, arn_prefix=PREFIX)
    assert (create.context["sagemaker:VolumeKmsKey"], create.context["sagemaker:OutputKmsKey"]) == (KEY, "alias/output")
    assert [each.action for each in others] == ["sagemaker:AddTags", "iam:PassRole", "kms:CreateGrant"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"KeepAlivePeriodInSeconds": 600}, {"sagemaker:KeepAlivePeriod": "600"}),
        ({"KeepAlivePeriodInSeconds": 0}, {"sagemaker:KeepAlivePeriod": "0"}),
        ({}, {}),
        (None, {}),
    ],
)
def test_the_period_of_a_warm_pool_can_be_a_condition(config, expected):
    for operation in ("CreateTrainingJob", "UpdateTrainingJob"):
        first, *_ = permissions(operation, {"TrainingJobName": "a", "ResourceConfig": config}, arn_prefix=PREFIX)
        assert (first.action, first.resource) == (f"sagemaker:{operation}", f"{PREFIX}a")
        assert first.context == expected


def test_creating_a_job_needs_permission_for_each_file_system_that_it_mounts():
    document = request(InputDataConfig=mounts(("fs-00000001", "/data"), ("fs-00000002", "/models")))
    asked = permissions("CreateTrainingJob", document, arn_prefix=PREFIX)
    assert [each.action for each in asked[:3]] == ["sagemaker:CreateTrainingJob"] * 2 + ["sagemaker:AddTags"]
    ids = [each.context["sagemaker:FileSystemId"] for each in asked[:2]]
    assert ids == ["fs-00000001", "fs-00000002"]


@pytest.mark.parametrize(
    "config",
    [
        None,
        "x",
        {"TrainingPlanArn": 5, "VolumeKmsKeyId": []},
        {"InstancePreferences": 5},
        {"InstancePreferences": [5, {"TrainingPlanArns": 5}, {"TrainingPlanArns": [5]}]},
    ],
)
def test_malformed_resources_need_no_separate_permission(config):
    asked = needed("CreateTrainingJob", {"ResourceConfig": config, "OutputDataConfig": config})
    assert [action for action, _ in asked] == ["sagemaker:CreateTrainingJob", "iam:PassRole"]


@pytest.mark.parametrize(
    ("operation", "document", "resource"),
    [
        ("StopTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("DescribeTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("DeleteTrainingJob", {"TrainingJobName": "a"}, f"{PREFIX}a"),
        ("ListTrainingJobs", {}, "*"),
        ("ListTrainingPlans", {}, "*"),
        ("ListTags", {"ResourceArn": f"{PREFIX}a"}, f"{PREFIX}a"),
        ("AddTags", {"ResourceArn": f"{PREFIX}a", "Tags": [{"Key": "k", "Value": "v"}]}, f"{PREFIX}a"),
    ],
)
def test_other_calls_need_one_permission(operation, document, resource):
    assert needed(operation, document) == [(f"sagemaker:{operation}", resource)]


def test_tags_added_to_a_resource_are_distinguished_from_those_of_a_request():
    (tag,) = permissions(
        "AddTags", {"ResourceArn": f"{PREFIX}a", "Tags": [{"Key": "k", "Value": "v"}]}, arn_prefix=PREFIX
    )
    assert tag.context == {"aws:RequestTag/k": "v", "aws:TagKeys": ["k"]}


@pytest.mark.parametrize("tags", [None, "x", [5], [{"Key": "k"}]])
def test_a_malformed_request_still_needs_permission(tags):
    assert needed("CreateTrainingJob", {"Tags": tags})[0] == ("sagemaker:CreateTrainingJob", PREFIX)


@pytest.mark.parametrize(
    ("explicit", "end"),
    [
        (False, "because no identity-based policy allows the iam:PassRole action"),
        (True, "with an explicit deny in an identity-based policy"),
    ],
)
def test_a_denial_names_the_caller_the_action_and_the_cause(explicit, end):
    (*_, give) = permissions("CreateTrainingJob", request(), arn_prefix=PREFIX)
    error = denied(give, principal="arn:aws:iam::123456789012:user/ann", explicit=explicit)
    assert error.code == "AccessDeniedException"
    assert error.message == (
        f"User: arn:aws:iam::123456789012:user/ann is not authorized to perform: iam:PassRole on resource: {ROLE} {end}"
    )
