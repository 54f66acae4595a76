"""The request for the training job of a task."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_covalent.errors import MissingSetting, ReservedMember
from headway_covalent.request import RESERVED, job_name, training_request

SETTINGS: dict[str, Any] = {
    "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
    "role_arn": "arn:aws:iam::123456789012:role/training",
    "s3_uri": "s3://team-bucket/covalent/",
    "instance_type": "ml.g5.xlarge",
    "volume_gb": 40,
    "max_runtime_s": 600,
    "priority": None,
    "team": None,
    "tags": {},
    "request": {},
}


def request_with(**changes: Any) -> dict[str, Any]:
    return training_request("t", {**SETTINGS, **changes})


def test_a_task_becomes_a_job_on_one_instance():
    assert request_with() == {
        "TrainingJobName": "t",
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "AlgorithmSpecification": {
            "TrainingImage": SETTINGS["image"],
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "/opt/ml/input/data/task/run_task.py"],
        },
        "InputDataConfig": [
            {
                "ChannelName": "task",
                "DataSource": {
                    "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://team-bucket/covalent/t/task"},
                },
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://team-bucket/covalent"},
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 40},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }


def test_priority_team_and_tags_are_tags_of_the_job():
    tags = request_with(priority=7, team="vision", tags={"project": "p"})["Tags"]
    assert {each["Key"]: each["Value"] for each in tags} == {
        "project": "p",
        "team": "vision",
        "priority": "7",
    }


def test_further_members_are_those_of_create_training_job():
    spot = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 5, "MaxWaitTimeInSeconds": 9},
    }
    assert request_with(request=spot).items() >= spot.items()


@pytest.mark.parametrize("member", sorted(RESERVED))
def test_a_member_that_the_executor_sets_is_refused(member: str):
    with pytest.raises(ReservedMember, match=f"sets {member} itself"):
        request_with(request={member: "x"})


@pytest.mark.parametrize("setting", ["image", "role_arn", "s3_uri", "instance_type"])
def test_a_setting_that_is_missing_is_named(setting: str):
    with pytest.raises(MissingSetting, match=f"The executor has no {setting}: give "):
        request_with(**{setting: ""})


@given(st.uuids(), st.uuids(), st.integers(0, 10**9), st.integers(0, 10**9))
def test_each_node_of_each_dispatch_has_a_name_of_its_own_that_sagemaker_takes(
    one: uuid.UUID, other: uuid.UUID, node: int, another: int
):
    names = [job_name(str(dispatch), number) for dispatch, number in ((one, node), (other, another))]
    assert (names[0] == names[1]) is ((one, node) == (other, another))
    assert all(len(name) <= 63 for name in names)
