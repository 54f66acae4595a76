"""How rules on training jobs are written in the configuration document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    StringConstraints,
    model_serializer,
    model_validator,
)

from headway.jobpolicy import requirements, rules, training_job
from headway.jobpolicy.requirements import Requirement
from headway.jobpolicy.rules import OnStart
from headway_service.config.base import ConfigModel, Name
from headway_service.config.warm_pools import MAX_KEEP_ALIVE_S
from headway_service.validation_messages import explained

MAX_RULES = 50

MAX_PATTERNS = 50
"""Entries of one list of a rule."""

MAX_PATTERN_CHARS = 256
"""The longest value of a tag (API reference, Tag), and longer than most ARNs."""

MAX_NOTE_CHARS = 200
"""The message to callers whose requests break a rule."""

# What tags are made of (API reference, Tag).
_TAG = r"\w\s.:/=+@\-"


def _like(shape: str, what: str) -> AfterValidator:
    """Checks that a pattern can match anything: a mistyped one would refuse every job."""

    def check(pattern: str) -> str:
        if not re.match(shape, pattern):
            raise ValueError(f"{pattern!r:.80} is no pattern of {what}; * matches any text, ? one character")
        return pattern

    return AfterValidator(check)


_T = TypeVar("_T")
_Listed = Annotated[list[_T], Field(min_length=1, max_length=MAX_PATTERNS)]
_Pattern = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATTERN_CHARS)]
# The length is separate from the pattern: as part of it, 128 Unicode classes would be compiled at each cold start, for
# each model with tag keys. That took a tenth of a cold start.
_TAG_KEY = explained(rf"^[{_TAG}]+$", "a tag's key: letters, digits, spaces and . : / = + @ - _")
_TagKey = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=_TAG_KEY)]
_TagKeys = _Listed[Annotated[_Pattern, _like(rf"[{_TAG}*?\[\]!]+\Z", "a tag's key")]]
_Tags = Annotated[
    dict[_TagKey, _Listed[Annotated[_Pattern, _like(rf"[{_TAG}*?\[\]!]+\Z", "a tag's value")]]],
    Field(min_length=1, max_length=MAX_PATTERNS),
]
InstanceTypes = _Listed[Annotated[_Pattern, _like(r"ml\.|\*", "an instance type such as ml.g5.*")]]
_Roles = _Listed[Annotated[_Pattern, _like(r"arn:|\*", "a role's ARN")]]
_Outputs = _Listed[Annotated[_Pattern, _like(r"s3://|\*", "a place such as s3://bucket/*")]]
_Subnets = _Listed[Annotated[_Pattern, _like(r"subnet-|\*", "a subnet's id")]]
_FileSystemId = Annotated[_Pattern, _like(r"fs-|\*", "a file system's id")]
_Directory = Annotated[_Pattern, _like(r"/|\*", "a directory such as /data/*")]
_SecurityGroups = _Listed[Annotated[_Pattern, _like(r"sg-|\*", "a security group's id")]]


_ALLOWED = {
    "instance_types": training_job.INSTANCE_TYPE,
    "roles": "RoleArn",
    "images": "AlgorithmSpecification.TrainingImage",
    "output_paths": "OutputDataConfig.S3OutputPath",
    "output_keys": "OutputDataConfig.KmsKeyId",
    "volume_keys": "ResourceConfig.VolumeKmsKeyId",
    "subnets": "VpcConfig.Subnets",
    "security_groups": "VpcConfig.SecurityGroupIds",
}
_GIVEN = {"checkpoints": "CheckpointConfig", "vpc": "VpcConfig"}
_SWITCHED = {
    "network_isolation": "EnableNetworkIsolation",
    "traffic_encryption": "EnableInterContainerTrafficEncryption",
    "remote_debug": "RemoteDebugConfig.EnableRemoteDebug",
}


class _Sparse(ConfigModel):
    """A part of which most is left out, also where it is shown."""

    @model_serializer(mode="wrap")
    def _only_what_is_said(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


class When(_Sparse):
    """Which jobs a rule is for: all of it has to hold."""

    teams: _Listed[Name] | None = None
    tags: _Tags | None = None
    #: Only jobs with an instance of one of these types, in any group.
    instance_types: InstanceTypes | None = None
    #: Spot instances only, or with false on demand only.
    spot: bool | None = None
    #: Only jobs that may be preempted, or with false only those that may not.
    preemptible: bool | None = None

    def condition(self) -> rules.When:
        """The condition as it is decided on."""
        return rules.When(
            teams=tuple(self.teams or ()),
            tags=_tuples(self.tags or {}),
            instance_types=tuple(self.instance_types or ()),
            spot=self.spot,
            preemptible=self.preemptible,
        )


class FileSystem(_Sparse):
    """A file system that jobs may mount, by patterns of the members of a FileSystemDataSource."""

    id: _FileSystemId | None = None
    type: Literal["EFS", "FSxLustre"] | None = None
    directory: _Directory | None = None
    access_mode: Literal["ro", "rw"] | None = None

    @model_validator(mode="after")
    def _names_something(self) -> FileSystem:
        if all(value is None for _, value in self):
            raise ValueError("is any file system: name its id, its type, its directory or its access mode")
        return self

    def patterns(self) -> dict[str, str]:
        """The patterns as they are decided on: by member of a FileSystemDataSource."""
        named = {
            "FileSystemId": self.id,
            "FileSystemType": self.type,
            "DirectoryPath": self.directory,
            "FileSystemAccessMode": self.access_mode,
        }
        return {member: pattern for member, pattern in named.items() if pattern is not None}


class Require(_Sparse):
    """The requirements of a rule, which all apply. Each list contains the allowed values."""

    tags: _Tags | None = None
    forbidden_tags: _TagKeys | None = None
    #: The only keys of tags.
    allowed_tags: _TagKeys | None = None
    instance_types: InstanceTypes | None = None
    #: Of all groups together.
    max_instances: int | None = Field(default=None, ge=1, le=1_000_000)
    max_run_time_seconds: int | None = Field(default=None, ge=1, le=30 * 86_400)
    max_keep_alive_seconds: int | None = Field(default=None, ge=0, le=MAX_KEEP_ALIVE_S)
    checkpoints: Literal[True] | None = None
    #: At a location that no job in the queue has.
    unique_checkpoints: Literal[True] | None = None
    roles: _Roles | None = None
    images: _Listed[_Pattern] | None = None
    output_paths: _Outputs | None = None
    output_keys: _Listed[_Pattern] | None = None
    volume_keys: _Listed[_Pattern] | None = None
    #: With an empty list no file system at all.
    file_systems: Annotated[list[FileSystem], Field(max_length=MAX_PATTERNS)] | None = None
    vpc: Literal[True] | None = None
    subnets: _Subnets | None = None
    security_groups: _SecurityGroups | None = None
    network_isolation: Literal[True] | None = None
    traffic_encryption: Literal[True] | None = None
    remote_debug: Literal[False] | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Require:
        if all(value is None for _, value in self):
            raise ValueError("asks for nothing: name at least one requirement")
        return self

    def requirements(self) -> Iterator[Requirement]:
        """The requirements as they are decided on."""
        yield from (requirements.Tagged(key, patterns) for key, patterns in _tuples(self.tags or {}).items())
        if self.forbidden_tags is not None:
            yield requirements.Untagged(tuple(self.forbidden_tags))
        if self.allowed_tags is not None:
            yield requirements.OnlyTagged(tuple(self.allowed_tags))
        yield from (
            requirements.Allowed(path, tuple(getattr(self, name)))
            for name, path in _ALLOWED.items()
            if getattr(self, name)
        )
        yield from (requirements.Given(path) for name, path in _GIVEN.items() if getattr(self, name))
        yield from (
            requirements.Switched(path, on=getattr(self, name))
            for name, path in _SWITCHED.items()
            if getattr(self, name) is not None
        )
        if self.file_systems is not None:
            yield requirements.FileSystems(tuple(each.patterns() for each in self.file_systems))
        if self.unique_checkpoints is not None:
            yield requirements.UniqueCheckpoints()
        if self.max_instances is not None:
            yield requirements.MaxInstances(self.max_instances)
        if self.max_run_time_seconds is not None:
            yield requirements.MaxRunTime(self.max_run_time_seconds)
        if self.max_keep_alive_seconds is not None:
            yield requirements.AtMost("ResourceConfig.KeepAlivePeriodInSeconds", self.max_keep_alive_seconds)


class Rule(_Sparse):
    """A rule on training jobs, e.g. ``{"when": {"spot": true}, "require": {"checkpoints": true}}``."""

    when: When = When()
    require: Require
    #: The action on a started job that breaks it, also on a rogue one.
    on_start: Annotated[OnStart, Strict(strict=False)] = OnStart.REPORT
    #: Shown to callers whose requests break it, for example a contact.
    message: str | None = Field(default=None, min_length=1, max_length=MAX_NOTE_CHARS)

    def rule(self, name: str) -> rules.Rule:
        """The rule as it is decided on."""
        return rules.Rule(
            name=name,
            requirements=tuple(self.require.requirements()),
            when=self.when.condition(),
            on_start=self.on_start,
            note=self.message or "",
        )


def _tuples(tags: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(patterns) for key, patterns in tags.items()}
