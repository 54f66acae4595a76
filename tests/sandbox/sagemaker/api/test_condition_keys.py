from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.api import condition_keys

FULL: dict[str, Any] = {
    "TrainingJobName": "a",
    "ResourceConfig": {
        "InstanceType": "ml.m5.large",
        "VolumeKmsKeyId": "alias/volumes",
        "KeepAlivePeriodInSeconds": 60,
    },
    "OutputDataConfig": {"S3OutputPath": "s3://b/c", "KmsKeyId": "alias/output"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    "VpcConfig": {"Subnets": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]},
    "EnableNetworkIsolation": True,
    "EnableInterContainerTrafficEncryption": False,
    "RemoteDebugConfig": {"EnableRemoteDebug": False},
    "InputDataConfig": [
        {"DataSource": {"S3DataSource": {"S3Uri": "s3://b/c"}}},
        {
            "DataSource": {
                "FileSystemDataSource": {
                    "FileSystemId": "fs-1",
                    "FileSystemAccessMode": "ro",
                    "FileSystemType": "EFS",
                    "DirectoryPath": "/data",
                }
            }
        },
    ],
}


def test_the_members_of_a_request_have_condition_keys():
    (keys,) = condition_keys.of(FULL)
    assert keys == {
        "sagemaker:EnableRemoteDebug": "false",
        "sagemaker:FileSystemAccessMode": "ro",
        "sagemaker:FileSystemDirectoryPath": "/data",
        "sagemaker:FileSystemId": "fs-1",
        "sagemaker:FileSystemType": "EFS",
        "sagemaker:InstanceTypes": ["ml.m5.large"],
        "sagemaker:InterContainerTrafficEncryption": "false",
        "sagemaker:KeepAlivePeriod": "60",
        "sagemaker:MaxRuntimeInSeconds": "3600",
        "sagemaker:NetworkIsolation": "true",
        "sagemaker:OutputKmsKey": "alias/output",
        "sagemaker:VolumeKmsKey": "alias/volumes",
        "sagemaker:VpcSecurityGroupIds": ["sg-1"],
        "sagemaker:VpcSubnets": ["subnet-1", "subnet-2"],
    }


@pytest.mark.parametrize("name", ["InstanceGroups", "InstancePreferences"])
def test_the_instance_types_are_those_of_all_groups_or_preferences(name):
    listed = [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.m5.large"}]
    (keys,) = condition_keys.of({"ResourceConfig": {name: listed}})
    assert keys == {"sagemaker:InstanceTypes": ["ml.g5.xlarge", "ml.m5.large"]}


@pytest.mark.parametrize(
    "part",
    [None, "x", 5, [], [5], {}, {"KmsKeyId": "", "VolumeKmsKeyId": "", "Subnets": [], "InstanceGroups": [5]}],
    ids=str,
)
def test_a_member_that_is_empty_or_malformed_has_no_key(part):
    names = ("ResourceConfig", "OutputDataConfig", "StoppingCondition", "VpcConfig", "InputDataConfig")
    assert condition_keys.of(dict.fromkeys(names, part)) == [{}]
