"""What a status of SageMaker tells about instances, in a response or in an event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headway_service.sagemaker_api.status import EARLY_S, PROVISIONED, STARTING, parse_status

HOUR_S = 3600


def said(**changes: Any) -> dict[str, Any]:
    """An hour without instances, at most an hour of which was allowed; a change to None leaves the member out."""
    document = {
        "TrainingJobName": "a",
        "TrainingJobStatus": "Stopped",
        "SecondaryStatus": "Stopped",
        "SecondaryStatusTransitions": [{"Status": "Starting"}, {"Status": "Pending"}, {"Status": "Stopped"}],
        "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": HOUR_S},
        "CreationTime": datetime.fromtimestamp(1_000_000, UTC),
        "LastModifiedTime": datetime.fromtimestamp(1_000_000 + HOUR_S, UTC),
        **changes,
    }
    return {name: value for name, value in document.items() if value is not None}


def after(seconds: int) -> dict[str, Any]:
    return {"LastModifiedTime": datetime.fromtimestamp(1_000_000 + seconds, UTC)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, HOUR_S),
        ({"TrainingJobStatus": "Failed", "SecondaryStatus": "Failed"}, HOUR_S),
        ({"CreationTime": "1000000000", "LastModifiedTime": "1003600000"}, HOUR_S),
        (after(HOUR_S - EARLY_S), HOUR_S),
        (after(HOUR_S - EARLY_S - 1), None),
        ({"TrainingJobStatus": "InProgress", "SecondaryStatus": "Pending"}, None),
        ({"TrainingJobStatus": "Deleting", "SecondaryStatus": ""}, None),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 60}}, None),
        ({"StoppingCondition": None}, None),
        ({"CreationTime": None}, None),
        ({"LastModifiedTime": None}, None),
        ({"SecondaryStatusTransitions": [{"Status": "Training"}]}, None),
        ({"TrainingTimeInSeconds": 5}, None),
        ({"TrainingTimeInSeconds": 0}, HOUR_S),
    ],
)
def test_whether_a_training_job_ended_as_it_got_no_instances_in_its_pending_time(
    changes: dict[str, Any], expected: int | None
) -> None:
    assert parse_status(said(**changes)).pending_expired_s == expected


@pytest.mark.parametrize("secondary_status", sorted({*PROVISIONED, *STARTING, "Stopping", "Failed"}))
def test_a_training_job_has_instances_from_the_download_on(secondary_status: str) -> None:
    expected = secondary_status in PROVISIONED
    assert parse_status(said(SecondaryStatus=secondary_status)).provisioned is expected
    assert parse_status(said(SecondaryStatusTransitions=[{"Status": secondary_status}])).provisioned is expected
    assert parse_status(said(SecondaryStatusTransitions=None)).provisioned is False


@pytest.mark.parametrize(
    ("created", "created_ms"),
    [(datetime.fromtimestamp(1_000_000, UTC), 1_000_000_000), ("1000000000", 1_000_000_000), (None, None)],
    ids=["in a response", "in an event", "if it is not shown"],
)
def test_when_a_training_job_was_created(created: datetime | str | None, created_ms: int | None) -> None:
    assert parse_status(said(CreationTime=created)).created_ms == created_ms
