"""Each requirement, for a job that satisfies it and one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from headway.jobpolicy.requirements import (
    Allowed,
    AtMost,
    FileSystems,
    Given,
    MaxInstances,
    MaxRunTime,
    OnlyTagged,
    Requirement,
    Switched,
    Tagged,
    UniqueCheckpoints,
    Untagged,
)
from headway.jobpolicy.training_job import INSTANCE_TYPE, TrainingJob

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
ROLE = "arn:aws:iam::123456789012:role/training-a"
ROLES = Allowed("RoleArn", ("arn:aws:iam::*:role/training-*", "arn:aws:iam::*:role/eval"))
TYPES = Allowed(INSTANCE_TYPE, ("ml.g5.*",))
SUBNETS = Allowed("VpcConfig.Subnets", ("subnet-1", "subnet-2"))
CHECKPOINTS = Given("CheckpointConfig")
HOUR = MaxRunTime(3600)
VOLUME = Allowed("ResourceConfig.VolumeKmsKeyId", ("alias/volumes", "arn:aws:kms:*:key/*"))
NO_DEBUGGER = Switched("RemoteDebugConfig.EnableRemoteDebug", on=False)
KEPT_FOR = AtMost("ResourceConfig.KeepAlivePeriodInSeconds", 600)
DATA = FileSystems(
    (
        {"FileSystemId": "fs-1", "DirectoryPath": "/data/*", "FileSystemAccessMode": "ro"},
        {"FileSystemType": "FSxLustre"},
    )
)
RUN_TIME, WAIT_TIME = "StoppingCondition.MaxRuntimeInSeconds", "StoppingCondition.MaxWaitTimeInSeconds"


OTHER_DATA = (
    "has FileSystemId 'fs-1', DirectoryPath '/data/a', FileSystemAccessMode 'rw', FileSystemType 'EFS'; "
    "use FileSystemId fs-1, DirectoryPath /data/*, FileSystemAccessMode ro, or FileSystemType FSxLustre"
)


def on(count: int, kind: str = G5) -> dict[str, Any]:
    return {"ResourceConfig": {"InstanceType": kind, "InstanceCount": count}}


def listed(name: str, *asked: tuple[str, int]) -> dict[str, Any]:
    return {"ResourceConfig": {name: [{"InstanceType": kind, "InstanceCount": count} for kind, count in asked]}}


def runs(run_time_s: int | None = None, wait_time_s: int | None = None, *, spot: bool = False) -> dict[str, Any]:
    given = {"MaxRuntimeInSeconds": run_time_s, "MaxWaitTimeInSeconds": wait_time_s}
    stopping = {name: value for name, value in given.items() if value is not None}
    return {"StoppingCondition": stopping, "EnableManagedSpotTraining": spot}


def mounts(*sources: tuple[str, str, str, str]) -> dict[str, Any]:
    members = ("FileSystemId", "DirectoryPath", "FileSystemAccessMode", "FileSystemType")
    channels = [{"DataSource": {"FileSystemDataSource": dict(zip(members, each, strict=True))}} for each in sources]
    return {"InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://b/c"}}}, *channels]}


def keeps(seconds: int) -> dict[str, Any]:
    return {"ResourceConfig": {"KeepAlivePeriodInSeconds": seconds}}


def broken(requirement: Requirement, description: Any, tags: dict[str, str] | None = None) -> list[tuple[str, str]]:
    job = TrainingJob(description=description, tags=tags or {})
    return list(requirement.findings(job))


KEPT: list[tuple[str, Requirement, dict[str, Any], dict[str, str]]] = [
    ("a required tag with any value", Tagged("project", ("*",)), {}, {"project": ""}),
    ("a required tag with one of its values", Tagged("env", ("dev", "prod")), {}, {"env": "prod"}),
    ("a required tag that matches a pattern", Tagged("cost", ("cc-??", "x")), {}, {"cost": "cc-42"}),
    ("other tags than those forbidden", Untagged(("legacy-*",)), {}, {"legacy": "x"}),
    ("an allowed instance type", TYPES, on(1), {}),
    ("groups of allowed instance types", TYPES, listed("InstanceGroups", (G5, 1), ("ml.g5.2xlarge", 1)), {}),
    ("as many instances as allowed", MaxInstances(2), on(2), {}),
    ("groups with as many instances together", MaxInstances(3), listed("InstanceGroups", (G5, 1), (P5, 2)), {}),
    ("preferences, of which one is taken", MaxInstances(2), listed("InstancePreferences", (G5, 1), (P5, 2)), {}),
    (
        "preferences that share a number of instances",
        MaxInstances(2),
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": G5}], "InstanceCount": 2}},
        {},
    ),
    ("no instances at all", MaxInstances(1), {}, {}),
    ("the longest run time", HOUR, runs(3600), {}),
    ("the longest wait for spot", HOUR, runs(1800, 3600, spot=True), {}),
    ("SageMaker's default run time where a day is allowed", MaxRunTime(86_400), {}, {}),
    ("a checkpoint configuration", CHECKPOINTS, {"CheckpointConfig": {"S3Uri": "s3://b/c"}}, {}),
    ("an allowed role", ROLES, {"RoleArn": ROLE}, {}),
    ("allowed subnets", SUBNETS, {"VpcConfig": {"Subnets": ["subnet-2", "subnet-1"]}}, {}),
    ("only tags that are allowed", OnlyTagged(("cost-*", "project")), {}, {"cost-center": "1", "project": "x"}),
    ("no tag where some are allowed", OnlyTagged(("project",)), {}, {}),
    ("an allowed key of the volumes", VOLUME, {"ResourceConfig": {"VolumeKmsKeyId": "alias/volumes"}}, {}),
    ("a debugger that is off", NO_DEBUGGER, {"RemoteDebugConfig": {"EnableRemoteDebug": False}}, {}),
    ("no word about a debugger, which is off then", NO_DEBUGGER, {}, {}),
    ("instances that are kept as long as allowed", KEPT_FOR, keeps(600), {}),
    ("instances that are not kept", AtMost(KEPT_FOR.path, 0), {}, {}),
    ("no file system where some are allowed", DATA, {}, {}),
    (
        "file systems that are allowed",
        DATA,
        mounts(("fs-1", "/data/a", "ro", "EFS"), ("fs-2", "/x/../y", "rw", "FSxLustre")),
        {},
    ),
    ("no file system where none is allowed", FileSystems(()), mounts(), {}),
    ("a switch that is on", Switched("EnableNetworkIsolation"), {"EnableNetworkIsolation": True}, {}),
]


@pytest.mark.parametrize(
    ("requirement", "description", "tags"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT]
)
def test_a_job_that_satisfies_a_requirement(
    requirement: Requirement, description: dict[str, Any], tags: dict[str, str]
) -> None:
    assert broken(requirement, description, tags) == []


BROKEN: list[tuple[str, Requirement, dict[str, Any], dict[str, str], list[tuple[str, str]]]] = [
    (
        "a missing tag of any value",
        Tagged("project", ("*",)),
        {},
        {"Project": "x"},
        [("Tags", "has no 'project': add it")],
    ),
    (
        "a missing tag of some values",
        Tagged("env", ("dev", "prod")),
        {},
        {},
        [("Tags", "has no 'env': add it with one of dev, prod")],
    ),
    (
        "a tag with another value",
        Tagged("cost", ("cc-??",)),
        {},
        {"cost": "CC-42"},
        [("Tags", "has 'cost' with 'CC-42'; use cc-??")],
    ),
    (
        "forbidden tags",
        Untagged(("legacy-*",)),
        {},
        {"legacy-b": "x", "legacy-a": "x"},
        [
            ("Tags", "has 'legacy-a', which is not allowed: remove it"),
            ("Tags", "has 'legacy-b', which is not allowed: remove it"),
        ],
    ),
    (
        "another instance type",
        TYPES,
        on(1, P5),
        {},
        [(INSTANCE_TYPE, "is 'ml.p5.48xlarge'; use ml.g5.*")],
    ),
    (
        "each group of another instance type",
        TYPES,
        listed("InstanceGroups", (P5, 1), (G5, 1), ("ml.c5.large", 1)),
        {},
        [
            ("ResourceConfig.InstanceGroups[0].InstanceType", "is 'ml.p5.48xlarge'; use ml.g5.*"),
            ("ResourceConfig.InstanceGroups[2].InstanceType", "is 'ml.c5.large'; use ml.g5.*"),
        ],
    ),
    (
        "no instance type, as SageMaker picks one",
        TYPES,
        {},
        {},
        [(INSTANCE_TYPE, "is missing: add it with ml.g5.*")],
    ),
    (
        "one instance too many",
        MaxInstances(2),
        on(3),
        {},
        [("ResourceConfig.InstanceCount", "asks for 3 instances; use at most 2")],
    ),
    (
        "groups with too many instances together",
        MaxInstances(2),
        listed("InstanceGroups", (G5, 1), (P5, 2)),
        {},
        [("ResourceConfig.InstanceGroups", "asks for 3 instances; use at most 2")],
    ),
    (
        "a preference with too many instances",
        MaxInstances(2),
        listed("InstancePreferences", (G5, 3), (P5, 1)),
        {},
        [("ResourceConfig.InstancePreferences", "asks for 3 instances; use at most 2")],
    ),
    (
        "too many instances for all preferences",
        MaxInstances(1),
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": G5}], "InstanceCount": 2}},
        {},
        [("ResourceConfig.InstancePreferences", "asks for 2 instances; use at most 1")],
    ),
    (
        "counts that add up to more digits than Python prints",
        MaxInstances(2),
        listed("InstanceGroups", *[(G5, 10**4300 - 1)] * 2),
        {},
        [("ResourceConfig.InstanceGroups", "asks for 2000000000000 instances; use at most 2")],
    ),
    ("a longer run time", HOUR, runs(3601), {}, [(RUN_TIME, "is 3601; set it to at most 3600")]),
    (
        "no run time, which means a day",
        HOUR,
        {},
        {},
        [(RUN_TIME, "is missing, which means 86400; set it to at most 3600")],
    ),
    (
        "a longer wait for spot",
        HOUR,
        runs(1800, 3601, spot=True),
        {},
        [(WAIT_TIME, "is 3601; set it to at most 3600")],
    ),
    ("no checkpoint configuration", CHECKPOINTS, {}, {}, [("CheckpointConfig", "is missing: add it")]),
    (
        "an empty checkpoint configuration",
        CHECKPOINTS,
        {"CheckpointConfig": {}},
        {},
        [("CheckpointConfig", "is missing: add it")],
    ),
    (
        "another role",
        ROLES,
        {"RoleArn": "arn:aws:iam::1:role/admin"},
        {},
        [
            (
                "RoleArn",
                "is 'arn:aws:iam::1:role/admin'; use one of arn:aws:iam::*:role/training-*, arn:aws:iam::*:role/eval",
            )
        ],
    ),
    (
        "one subnet of another kind",
        SUBNETS,
        {"VpcConfig": {"Subnets": ["subnet-1", "subnet-3"]}},
        {},
        [("VpcConfig.Subnets[1]", "is 'subnet-3'; use one of subnet-1, subnet-2")],
    ),
    (
        "no VPC where subnets are named",
        SUBNETS,
        {},
        {},
        [("VpcConfig.Subnets", "is missing: add it with one of subnet-1, subnet-2")],
    ),
    (
        "tags that are not among those allowed",
        OnlyTagged(("cost-*", "project")),
        {},
        {"b": "x", "Project": "x", "project": "x"},
        [
            ("Tags", "has 'Project', which is not allowed: remove it, or use one of cost-*, project"),
            ("Tags", "has 'b', which is not allowed: remove it, or use one of cost-*, project"),
        ],
    ),
    (
        "another key of the volumes",
        VOLUME,
        {"ResourceConfig": {"VolumeKmsKeyId": "alias/others"}},
        {},
        [(VOLUME.path, "is 'alias/others'; use one of alias/volumes, arn:aws:kms:*:key/*")],
    ),
    (
        "a key without a character where any is allowed",
        Allowed("OutputDataConfig.KmsKeyId", ("*",)),
        {"OutputDataConfig": {"KmsKeyId": ""}},
        {},
        [("OutputDataConfig.KmsKeyId", "is missing: add it")],
    ),
    (
        "a debugger that is on",
        NO_DEBUGGER,
        {"RemoteDebugConfig": {"EnableRemoteDebug": True}},
        {},
        [(NO_DEBUGGER.path, "is on: set it to false")],
    ),
    ("instances that are kept too long", KEPT_FOR, keeps(601), {}, [(KEPT_FOR.path, "is 601; set it to at most 600")]),
    (
        "instances that are kept where none may be",
        AtMost(KEPT_FOR.path, 0),
        keeps(1),
        {},
        [(KEPT_FOR.path, "is 1; remove it")],
    ),
    (
        "a file system of another id, directory, mode and type than those allowed together",
        DATA,
        mounts(("fs-1", "/data/a", "ro", "EFS"), ("fs-1", "/data/a", "rw", "EFS")),
        {},
        [("InputDataConfig[2].DataSource.FileSystemDataSource", OTHER_DATA)],
    ),
    (
        "a directory that leads out of the one allowed",
        FileSystems(({"DirectoryPath": "/data/*"},)),
        mounts(("fs-1", "/data/../etc", "ro", "EFS")),
        {},
        [
            (
                "InputDataConfig[1].DataSource.FileSystemDataSource",
                "has DirectoryPath '/data/../etc'; use DirectoryPath /data/*",
            )
        ],
    ),
    (
        "a file system where none is allowed",
        FileSystems(()),
        mounts(("fs-1", "/data", "ro", "EFS")),
        {},
        [
            (
                "InputDataConfig[1].DataSource.FileSystemDataSource",
                "mounts a file system, which is not allowed: remove it",
            )
        ],
    ),
    (
        "a switch that is off",
        Switched("EnableNetworkIsolation"),
        {"EnableNetworkIsolation": False},
        {},
        [("EnableNetworkIsolation", "is not on: set it to true")],
    ),
]


@pytest.mark.parametrize(
    ("requirement", "description", "tags", "told"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_job_that_breaks_a_requirement_gets_the_necessary_change(
    requirement: Requirement, description: dict[str, Any], tags: dict[str, str], told: list[tuple[str, str]]
) -> None:
    assert broken(requirement, description, tags) == told


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ((), []),
        (
            ("`a`", "`b`"),
            [
                (
                    "CheckpointConfig.S3Uri",
                    "is where checkpoints of `a`, `b` are: use another location, with none of theirs above or below it",
                )
            ],
        ),
    ],
)
def test_checkpoints_are_unique_if_no_other_job_was_found_there(
    others: tuple[str, ...], found: list[tuple[str, str]]
) -> None:
    job = TrainingJob(description={}, checkpoints_of=others)
    assert list(UniqueCheckpoints().findings(job)) == found


def test_a_violation_names_the_first_of_many_patterns() -> None:
    (told,) = broken(Allowed("RoleArn", tuple(f"arn:{i}" for i in range(12))), {"RoleArn": "x"})
    assert told[1].endswith("arn:8, arn:9 and 2 more")
