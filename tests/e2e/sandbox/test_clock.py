"""Training time in the sandbox, which runs a hundred times as fast: all figures of a job agree with SageMaker's."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually
from tests.service.world import P5, on

pytestmark = pytest.mark.e2e

LIMIT_S, OVERHEAD_S = 7200, 1800
TOLERANCE_S = 1000
"""Ten seconds of a slow machine, in training time."""


def seconds_between(start: str | None, end: str | None) -> float:
    assert start is not None
    assert end is not None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def test_limit_forecast_elapsed_time_and_instance_hours_are_in_training_time(queue: QueueView) -> None:
    began_s = time.time()
    for name in ("one", "two"):
        queue.submit(
            name,
            Environment={"SANDBOX_RUN_SECONDS": "3600"},
            ResourceConfig=on(2),
            StoppingCondition={"MaxRuntimeInSeconds": LIMIT_S},
        )
    started = eventually(lambda: queue.job("one").started_time, queue.summary)
    (expected,) = queue.api.forecast().jobs
    assert seconds_between(started, expected.expected_start) == pytest.approx(LIMIT_S + OVERHEAD_S, abs=1)

    eventually(lambda: queue.job("one").ended_time, queue.summary)
    one = queue.job("one")
    told = queue.sandbox.client("sagemaker").describe_training_job(TrainingJobName=f"{queue.prefix}one")
    trained_s = told["TrainingTimeInSeconds"]
    assert trained_s == pytest.approx(3620, abs=5)
    elapsed_s = seconds_between(one.started_time, one.ended_time)
    assert elapsed_s == pytest.approx(trained_s + 40, abs=TOLERANCE_S)
    assert one.instance_seconds[P5] == pytest.approx(2 * elapsed_s, abs=10)
    # It took a hundredth of that.
    assert time.time() - began_s < trained_s / 10
