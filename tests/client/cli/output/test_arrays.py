"""An array in the details of a job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer

BY_STEPS: dict[str, Any] = {
    "metric": "loss",
    "goal": "minimize",
    "stepMetric": "epoch",
    "minMembers": 3,
    "minSteps": 2,
    "minTrainingSeconds": None,
}
BY_TIME = {**BY_STEPS, "goal": "maximize", "stepMetric": None, "minSteps": None, "minTrainingSeconds": 600}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (BY_STEPS, "a member whose loss is greater than the median of 3 or more others, from epoch 2 on"),
        (BY_TIME, "a member whose loss is less than the median of 3 or more others, from 600 s of training on"),
    ],
    ids=["by steps", "by time"],
)
def test_early_stopping_is_shown_apart_from_its_label(
    run: Run, server: ContractServer, settings: dict[str, Any], sentence: str
) -> None:
    numbers = {"count": 6, "atOnce": None, "maxFailures": None, "unmade": 0, "completed": 2, "failed": 0}
    array = {**numbers, "stopped": 3, "stoppedEarly": 2, "earlyStopping": settings}
    server.queue.add("sweep", array=array)
    out = run("show", "sweep")[1]
    assert f"Early End {sentence}\n" in out
    assert "Members   6: 2 completed, 2 stopped early, 1 stopped, 1 in the queue or running\n" in out
