"""A training job as rules see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_RUN_TIME_S = 86_400
"""MaxRuntimeInSeconds of a job without it (API reference, StoppingCondition: "The default value is 1 day")."""

INSTANCE_TYPE = "ResourceConfig.InstanceType"
"""The path of the instance type of each part of a request that demands instances."""

CHECKPOINTS = "CheckpointConfig.S3Uri"
"""The path of the location of checkpoints."""

_SPOT = "EnableManagedSpotTraining"
_FILE_SYSTEM = "DataSource.FileSystemDataSource"

# SageMaker has no numbers beyond it; sums of longer ones could not even be printed.
_HUGE = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """A training job as rules see it.

    What is not of the shape that SageMaker gives it counts as missing: shapes are checked elsewhere.
    """

    #: A CreateTrainingJob request, or DescribeTrainingJob's answer: both name their fields alike.
    description: Mapping[str, Any]
    #: Separate from the description, as DescribeTrainingJob does not return them.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: The team that is charged; empty if none.
    team: str = ""
    preemptible: bool = True
    #: The jobs in the queue that write their checkpoints where this one does, in words; empty if nobody has looked.
    checkpoints_of: tuple[str, ...] = ()

    def at(self, path: str) -> Any:
        """The value at a path such as ``VpcConfig.Subnets``; None if there is none."""
        return _at(self.description, path)

    def whole(self, path: str) -> int | None:
        """The whole number at a path; None if there is none."""
        return _whole(self.at(path))

    @property
    def spot(self) -> bool:
        """Whether it runs on spot instances."""
        return self.at(_SPOT) is True

    def texts(self, path: str) -> list[tuple[str, str | None]]:
        """The texts at a path, each with its own path; None for a missing one. A list has one for each entry."""
        if path == INSTANCE_TYPE:
            return [(f"{part}.InstanceType", _text(_at(asked, "InstanceType"))) for part, asked in self._parts()]
        found = self.at(path)
        if isinstance(found, list) and found:
            return [(f"{path}[{i}]", _text(entry)) for i, entry in enumerate(found)]
        return [(path, _text(found))]

    def file_systems(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The file systems that are mounted as its input, channel by channel, each with its path."""
        channels = self.at("InputDataConfig")
        sources = [_at(each, _FILE_SYSTEM) for each in channels] if isinstance(channels, list) else []
        return [
            (f"InputDataConfig[{i}].{_FILE_SYSTEM}", source)
            for i, source in enumerate(sources)
            if isinstance(source, Mapping)
        ]

    def instances(self) -> tuple[str, int]:
        """The number of demanded instances, and its path."""
        parts = self._parts()
        counts = [_whole(_at(asked, "InstanceCount")) or 0 for _, asked in parts]
        listed, several, _ = parts[0][0].partition("[")
        if not several:
            return f"{listed}.InstanceCount", counts[0]
        # Groups run side by side; of preferences SageMaker takes one.
        return listed, sum(counts) if listed.endswith("Groups") else max(counts)

    def hosts(self) -> tuple[str, ...]:
        """The instance type of each of its hosts, group by group; empty where it is missing."""
        hosts: list[str] = []
        for _, asked in self._parts():
            hosts += [_text(_at(asked, "InstanceType")) or ""] * (_whole(_at(asked, "InstanceCount")) or 0)
        return tuple(hosts)

    def _parts(self) -> list[tuple[str, Any]]:
        """Path and content of each part that demands instances."""
        for name in ("InstanceGroups", "InstancePreferences"):
            listed = self.at(f"ResourceConfig.{name}")
            if isinstance(listed, list) and listed:
                # Preferences may share one number of instances (API reference, InstancePreference).
                shared = {"InstanceCount": self.at("ResourceConfig.InstanceCount")}
                return [
                    (f"ResourceConfig.{name}[{i}]", {**shared, **asked} if isinstance(asked, Mapping) else asked)
                    for i, asked in enumerate(listed)
                ]
        return [("ResourceConfig", self.at("ResourceConfig"))]


def tags_in(listed: Any) -> dict[str, str]:
    """Tags as requests and ListTags give them, ``[{"Key": …, "Value": …}]``, as a mapping."""
    found = {}
    for tag in listed if isinstance(listed, list) else []:
        key, value = _text(_at(tag, "Key")), _text(_at(tag, "Value"))
        if key is not None and value is not None:
            found[key] = value
    return found


def _at(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return min(value, _HUGE) if isinstance(value, int) and not isinstance(value, bool) else None
