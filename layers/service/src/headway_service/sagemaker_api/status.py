"""Reads the status of a training job from an event, a DescribeTrainingJob response, or a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from headway_service.ports.training_jobs import TrainingJobStatus, TrainingJobSummary
from headway_service.response_check import member

STARTING = frozenset(
    {"Starting", "LaunchingMLInstances", "PreparingTrainingStack", "Pending", "Downloading", "DownloadingTrainingImage"}
)
"""Secondary statuses before the training begins (API reference, DescribeTrainingJob, SecondaryStatus)."""

PROVISIONED = frozenset(
    {"Downloading", "DownloadingTrainingImage", "Training", "Uploading", "Interrupted", "Restarting", "Updating"}
)
"""Secondary statuses of a training job that has, or had, instances (API reference, DescribeTrainingJob)."""

MAX_METRICS = 40
"""Most metrics of a training job (service model, MetricDefinitionList)."""

EARLY_S = 60
"""A training job that ends without instances up to this long before its MaxPendingTimeInSeconds ends for that, s.

AWS documents neither the status of such a training job nor when exactly the time begins.
"""


def parse_status(said: Mapping[str, Any]) -> TrainingJobStatus:
    """The sighting in DescribeTrainingJob's answer, or in the ``detail`` of a Training Job State Change event.

    They name their fields alike, but for the times: of events they are epoch milliseconds, sometimes as text
    (EventBridge reference, SageMaker events).
    """
    reason = said.get("FailureReason")
    transitions = said.get("SecondaryStatusTransitions") or []
    secondary_status = said.get("SecondaryStatus", "")
    trained_s = said.get("TrainingTimeInSeconds")
    billable_s = said.get("BillableTimeInSeconds")
    created = said.get("CreationTime")
    warm_pool = said.get("WarmPoolStatus") or {}
    passed = {secondary_status, *(each.get("Status") for each in transitions)}
    provisioned = float(trained_s or 0) > 0 or not passed.isdisjoint(PROVISIONED)
    return TrainingJobStatus(
        attempt=said["TrainingJobName"],
        status=said["TrainingJobStatus"],
        secondary_status=secondary_status,
        modified_ms=_ms(said.get("LastModifiedTime") or created or 0),
        created_ms=_ms(created) if created else None,
        arn=said.get("TrainingJobArn", ""),
        failure_reason=_without_command(str(reason)) if reason else None,
        interruptions=sum(each.get("Status") == "Interrupted" for each in transitions),
        training_since_ms=_since(transitions) if secondary_status == "Training" else None,
        trained_ms=None if trained_s is None else int(float(trained_s) * 1000),
        billable_s=None if billable_s is None else int(float(billable_s)),
        provisioned=provisioned,
        warm_pool=warm_pool.get("Status"),
        reused_by=warm_pool.get("ReusedByJob") or "",
        pending_expired_s=None if provisioned else _pending_expired_s(said),
        metrics=_metrics(said["FinalMetricDataList"] or ()) if "FinalMetricDataList" in said else None,
    )


def parse_summary(summary: Mapping[str, Any]) -> TrainingJobSummary:
    """One of ListTrainingJobs' TrainingJobSummaries.

    Raises:
        UnreadableAnswer: it lacks what the service model requires.
    """
    return TrainingJobSummary(
        name=member(summary, "TrainingJobName"),
        status=member(summary, "TrainingJobStatus"),
        secondary_status=summary.get("SecondaryStatus"),
        # As of DescribeTrainingJob, so that the two can be compared. The model requires CreationTime only.
        modified_ms=_ms(summary.get("LastModifiedTime") or member(summary, "CreationTime")),
    )


def _pending_expired_s(said: Mapping[str, Any]) -> int | None:
    """The MaxPendingTimeInSeconds of a training job without instances that ended when so much time had passed."""
    if said["TrainingJobStatus"] not in {"Failed", "Stopped"}:
        return None
    most_s = (said.get("StoppingCondition") or {}).get("MaxPendingTimeInSeconds")
    created, modified = said.get("CreationTime"), said.get("LastModifiedTime")
    if most_s is None or not created or not modified:
        return None
    return int(most_s) if _ms(modified) - _ms(created) >= (int(most_s) - EARLY_S) * 1000 else None


def _metrics(listed: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The final values of metrics by name, as text. One that is no number says nothing."""
    values = [(each.get("MetricName"), each.get("Value")) for each in listed]
    found = {str(name): float(value) for name, value in values if name and isinstance(value, int | float)}
    return {name: repr(value) for name, value in list(found.items())[:MAX_METRICS] if math.isfinite(value)}


def _without_command(reason: str) -> str:
    """SageMaker's reason of a failure without the command line, which holds the hyperparameters.

    SageMaker's training toolkit ends its errors with it (errors.py, ``_CalledProcessError``).
    """
    said, command, _ = reason.partition('Command "')
    return f'{said}{command}…"' if command else reason


def _since(transitions: list[Mapping[str, Any]]) -> int | None:
    """When the newest spell of training began: a spot job that was interrupted has several."""
    began = [each["StartTime"] for each in transitions if each.get("Status") == "Training" and each.get("StartTime")]
    return max((_ms(each) for each in began), default=None)


def _ms(time: datetime | float | str) -> int:
    return int(time.timestamp() * 1000 if isinstance(time, datetime) else float(time))
