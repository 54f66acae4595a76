"""Each way by which a request enters the queue or changes is judged by the same rules, and so is a rogue job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway_sandbox.sagemaker.request_builder import G5
from headway_service.admission.submission import Submission
from headway_service.errors import RuleViolation
from headway_service.sagemaker_api.request_change import RequestChange
from tests.service.jobs.test_submit_batch import submit
from tests.service.tracking.test_rogue_jobs import create, reason
from tests.service.world import P5, ROOT, World, on, request

KEY = "alias/volumes"
SOURCE = {
    "FileSystemId": "fs-0a1b2c3d",
    "FileSystemAccessMode": "rw",
    "FileSystemType": "EFS",
    "DirectoryPath": "/data",
}
MOUNTS = {
    "InputDataConfig": [{"ChannelName": "train", "DataSource": {"FileSystemDataSource": SOURCE}}],
    "VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]},
}
BROKEN: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "a volume without a key",
        {"volumeKeys": [KEY]},
        {},
        "ResourceConfig.VolumeKmsKeyId is missing: add it with alias/volumes",
    ),
    (
        "an output with an empty key",
        {"outputKeys": ["*"]},
        {"OutputDataConfig": {"S3OutputPath": "s3://b/c", "KmsKeyId": ""}},
        "OutputDataConfig.KmsKeyId is missing: add it",
    ),
    (
        "a debugger",
        {"remoteDebug": False},
        {"RemoteDebugConfig": {"EnableRemoteDebug": True}},
        "RemoteDebugConfig.EnableRemoteDebug is on: set it to false",
    ),
    (
        "a warm pool",
        {"maxKeepAliveSeconds": 60},
        {"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": 61}},
        "ResourceConfig.KeepAlivePeriodInSeconds is 61; set it to at most 60",
    ),
    (
        "a file system that may be written",
        {"fileSystems": [{"accessMode": "ro"}]},
        MOUNTS,
        "InputDataConfig[0].DataSource.FileSystemDataSource has FileSystemAccessMode 'rw'; use FileSystemAccessMode ro",
    ),
    (
        "a tag that is not allowed",
        {"allowedTags": ["project"]},
        {"Tags": [{"Key": "owner", "Value": "ada"}]},
        "Tags has 'owner', which is not allowed: remove it, or use project",
    ),
]
broken = pytest.mark.parametrize(
    ("require", "changes", "told"), [row[1:] for row in BROKEN], ids=[r[0] for r in BROKEN]
)


def ruled(world: World, require: dict[str, Any], **parts: Any) -> None:
    document = {"pools": {P5: {"size": 2}, G5: {"size": 2}}, "rules": {"strict": {"require": require, **parts}}}
    world.configuration.write(document)


def one(world: World, asked: dict[str, Any]) -> object:
    return world.submitter.submit(asked, ROOT)


def in_a_batch(world: World, asked: dict[str, Any]) -> object:
    (result,) = submit(world, asked)
    if isinstance(result, Exception):
        raise result
    return result


def as_an_array(world: World, asked: dict[str, Any]) -> object:
    return world.submitter.submit(Submission(request=asked, sweep={"grid": {"seed": [1, 2]}}), ROOT)


def tried(world: World, asked: dict[str, Any]) -> object:
    return world.forecast_service.dry_run(asked, ROOT)


Way = Callable[[World, dict[str, Any]], object]


@broken
@pytest.mark.parametrize("way", [one, in_a_batch, as_an_array, tried])
def test_a_request_that_breaks_a_rule_does_not_enter(
    way: Way, require: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    world = World()
    way(world, request("before", **changes))
    ruled(world, require)
    with pytest.raises(RuleViolation) as raised:
        way(world, request("after", **changes))
    assert str(raised.value) == f"{told} (rule `strict`)"


@broken
def test_a_waiting_job_that_breaks_a_new_rule_is_not_changed(
    require: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    world = World()
    world.submit("a", **changes)
    ruled(world, require)
    with pytest.raises(RuleViolation) as raised:
        world.changes.change("a", RequestChange(max_runtime_s=60), ROOT)
    assert str(raised.value) == f"{told} (rule `strict`)"


def test_an_alternative_that_breaks_a_rule_does_not_enter() -> None:
    world = World()
    ruled(world, {"volumeKeys": [KEY]})
    asked = request("a", ResourceConfig={**on(1), "VolumeKmsKeyId": KEY})
    world.submitter.submit(asked, ROOT)
    with pytest.raises(RuleViolation) as raised:
        world.submitter.submit(
            Submission(request={**asked, "TrainingJobName": "b"}, alternatives=[{"ResourceConfig": on(1, G5)}]), ROOT
        )
    (field,) = raised.value.fields
    assert field.field == "alternatives[0].ResourceConfig.VolumeKmsKeyId"


@broken
def test_a_started_job_that_breaks_a_new_rule_is_stopped(
    require: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    world = World()
    world.submit("a", **changes)
    ruled(world, require, onStart="stop")
    world.tick()
    world.pass_time(600)
    world.check()
    assert told in world.seen("a").reason.message


@broken
def test_a_rogue_job_that_breaks_a_rule_is_told(require: dict[str, Any], changes: dict[str, Any], told: str) -> None:
    world = World()
    ruled(world, require)
    create(world, **changes)
    world.pass_time(1)
    code, message = reason(world)
    assert code == "OutsideAndBreaksRules"
    assert f"breaks rules: {told} (rule `strict`)" in message
