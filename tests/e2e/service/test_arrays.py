"""Arrays through the deployed functions: members run in turn, one is stopped, others wait for the whole."""

from __future__ import annotations

import json

import pytest

from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

SWEEP = json.dumps({"grid": {"lr": [0.1, 0.01], "layers": [2, 4]}})
SHORT = {"SANDBOX_RUN_SECONDS": "300"}


def test_the_members_of_an_array_run_in_turn_and_a_job_waits_for_all(queue: QueueView) -> None:
    array = f"{queue.prefix}sweep"
    document = queue.request("sweep", HyperParameters={"epochs": "3"})
    queue.cli("submit", "-", "--sweep", SWEEP, "--at-once", "1", stdin=document)
    queue.cli("submit", "-", "--after", f"{array}:any", stdin=queue.request("report", Environment=SHORT))
    queue.wait_for(sweep="running")
    queue.cli("stop", f"{array}_2", "--yes")
    for name in ("sweep_0", "sweep_1", "sweep_3"):
        queue.finish(name)
    queue.wait_for(sweep="stopped", report="completed")
    listed = {member.name.removeprefix(array): member for member in queue.api.members(array)}
    states = {name: member.state for name, member in listed.items()}
    assert states == {"_0": "completed", "_1": "completed", "_2": "stopped", "_3": "completed"}
    assert listed["_1"].parameters == {"lr": "0.1", "layers": "4"}
    made = [job for name in ("sweep_0", "sweep_1", "sweep_3") for job in queue.training_jobs(name)]
    assert [each["TrainingJobName"] for each in made] == [listed[f"_{index}"].attempt for index in (0, 1, 3)]
    assert queue.training_jobs("sweep") == queue.training_jobs("sweep_2") == []
    queue.check_records(size=1)
    assert "3 completed, 1 stopped" in queue.cli("show", array).out
    rows = queue.cli("results", array, "-o", "csv").out.splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == [f"{array}_{index}" for index in range(4)]


def test_a_member_that_is_worse_than_the_other_is_stopped_early(queue: QueueView) -> None:
    array = f"{queue.prefix}sweep"
    early = "metric=loss,goal=minimize,stepMetric=epoch,minMembers=1,minSteps=3"
    sweep = json.dumps({"grid": {"lr": [0.1, 0.01]}})
    queue.cli("submit", "-", "--sweep", sweep, "--early-stopping", early, stdin=queue.request("sweep"))
    queue.wait_for(sweep_0="running", sweep_1="running")
    cloudwatch = queue.sandbox.client("cloudwatch")
    for member, loss in (("sweep_0", 1.0), ("sweep_1", 5.0)):
        dimensions = [{"Name": "TrainingJobName", "Value": queue.job(member).live_attempt}]
        cloudwatch.put_metric_data(
            Namespace="/aws/sagemaker/TrainingJobs",
            MetricData=[
                {"MetricName": "loss", "Dimensions": dimensions, "Value": loss},
                {"MetricName": "epoch", "Dimensions": dimensions, "Value": 3.0},
            ],
        )
    eventually(
        lambda: queue.job("sweep_1").state == "stopped",
        lambda: f"sweep_1 is stopped: {queue.summary()}",
        meanwhile=lambda: queue.sandbox.invoke("Watch"),
    )
    assert queue.job("sweep_1").reason.code == "StoppedEarly"
    assert queue.job("sweep_0").state == "running"
    queue.finish("sweep_0")
    queue.wait_for(sweep="completed")
    shown = queue.cli("show", array).out
    assert "1 completed, 1 stopped early" in shown
    assert "a member whose loss is greater than the median of 1 or more others, from epoch 3 on" in shown


def test_a_stop_of_an_array_ends_its_members(queue: QueueView) -> None:
    queue.cli("submit", "-", "--sweep", SWEEP, stdin=queue.request("sweep"))
    queue.wait_for(sweep_0="running", sweep_1="running", sweep_2="pending")
    queue.cli("stop", f"{queue.prefix}sweep", "--yes")
    queue.wait_for(sweep="stopped", sweep_0="stopped", sweep_2="stopped")
    assert queue.job("sweep_3").state == "stopped"
    assert "sweep_3" not in queue.jobs()
