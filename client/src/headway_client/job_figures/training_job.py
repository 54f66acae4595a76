"""What DescribeTrainingJob says of an attempt: its hosts, its phases and its channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TRAINING = "Training"
_DOWNLOADING = "Downloading"
_COPIES = "File"
_DEFAULT_LIMIT_S = 86_400
"""MaxRuntimeInSeconds without a value (API reference, StoppingCondition)."""


@dataclass(frozen=True, kw_only=True)
class TrainingJobFigures:
    """What is known of a training job.

    Attributes:
        types: the instance type of each host, in the order of their numbers.
        start_s: when it began to prepare or to train, s since 1970; None if it has not.
        training_s: when the script began, s since 1970; None if it has not.
        end_s: when it ended, s since 1970; None if it has not.
        downloading_s: how long it was Downloading, s; None if that is not known.
        reads_files: whether a channel is copied.
        limit_s: the limit of its run time, s.
    """

    types: tuple[str, ...]
    start_s: float | None
    training_s: float | None
    end_s: float | None
    downloading_s: float | None
    reads_files: bool
    limit_s: int

    def run_s(self, now_s: float) -> float | None:
        """Return how long it has run, s; None if it has not."""
        return None if self.start_s is None else (self.end_s or now_s) - self.start_s


def figures_of(described: Mapping[str, Any], now_s: float) -> TrainingJobFigures:
    """Return what a description says.

    Args:
        described: the response of DescribeTrainingJob.
        now_s: the queue's time, s since 1970.
    """
    phases = described.get("SecondaryStatusTransitions", [])
    ended = described.get("TrainingEndTime")
    started = [phase["StartTime"].timestamp() for phase in phases]
    trains = [phase["StartTime"].timestamp() for phase in phases if phase["Status"] == _TRAINING]
    copied = [_duration_s(phase, now_s) for phase in phases if phase["Status"] == _DOWNLOADING]
    return TrainingJobFigures(
        types=types_of(described["ResourceConfig"]),
        start_s=min(started, default=None),
        training_s=min(trains, default=None),
        end_s=None if ended is None else ended.timestamp(),
        # A job that trains without having been in that phase has copied nothing.
        downloading_s=sum(copied) if trains or copied else None,
        reads_files=_reads_files(described),
        limit_s=described.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", _DEFAULT_LIMIT_S),
    )


def _duration_s(phase: Mapping[str, Any], now_s: float) -> float:
    end = phase.get("EndTime")
    start_s: float = phase["StartTime"].timestamp()
    return max(0.0, (now_s if end is None else end.timestamp()) - start_s)


def types_of(resources: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the instance type of each host of a ResourceConfig, in the order in which SageMaker numbers them."""
    groups = resources.get("InstanceGroups") or ([resources] if "InstanceType" in resources else [])
    return tuple(group["InstanceType"] for group in groups for _ in range(group["InstanceCount"]))


def _reads_files(described: Mapping[str, Any]) -> bool:
    # A channel without a mode has that of the algorithm (API reference, Channel: InputMode).
    default = described.get("AlgorithmSpecification", {}).get("TrainingInputMode", _COPIES)
    return any(channel.get("InputMode", default) == _COPIES for channel in described.get("InputDataConfig", []))
