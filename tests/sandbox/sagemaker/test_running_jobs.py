"""Training jobs whose scripts run: which stages end when their processes say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.training_job import TrainingJob
from tests.sandbox.fleets import request, spot

DOWNLOADING_S = 180.0


@pytest.fixture
def fleet() -> FakeSageMaker:
    return FakeSageMaker(settings=replace(SageMakerSettings(), why_timer=lambda _request: ""))


def secondary(fleet: FakeSageMaker, now: float) -> str:
    status: str = fleet.describe("train-1", now=now)["SecondaryStatus"]
    return status


def test_each_stage_lasts_until_its_processes_have_ended_it(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    for number, stage in enumerate(("Downloading", "Training", "Uploading")):
        moment_s = 1000.0 + number
        assert secondary(fleet, moment_s) == stage
        fleet.end_stage("train-1", stage, now=moment_s)
    assert secondary(fleet, 1003.0) == "Completed"


def test_a_report_on_a_stage_that_the_job_has_left_has_no_effect(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    for stage in ("Pending", "Training", "Uploading", "Stopping"):
        fleet.end_stage("train-1", stage, now=DOWNLOADING_S)
    fleet.end_stage("nobody", "Training", now=DOWNLOADING_S)
    assert secondary(fleet, DOWNLOADING_S) == "Downloading"


def test_a_job_whose_processes_fail_has_their_reason(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    fleet.end_stage("train-1", "Downloading", failure="ClientError: no input", now=DOWNLOADING_S)
    described = fleet.describe("train-1", now=DOWNLOADING_S)
    assert (described["TrainingJobStatus"], described["FailureReason"]) == ("Failed", "ClientError: no input")


def test_a_stopping_job_is_stopped_when_its_processes_have_ended_however_they_did(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    fleet.end_stage("train-1", "Downloading", now=DOWNLOADING_S)
    fleet.stop("train-1", now=200.0)
    assert secondary(fleet, 1000.0) == "Stopping"
    fleet.end_stage("train-1", "Stopping", failure="AlgorithmError: x", now=1000.0)
    assert secondary(fleet, 1000.0) == "Stopped"


def test_the_run_time_limit_applies_to_scripts(fleet: FakeSageMaker):
    fleet.create(request(StoppingCondition={"MaxRuntimeInSeconds": 100}), now=0.0)
    fleet.end_stage("train-1", "Downloading", now=DOWNLOADING_S)
    fleet.advance(DOWNLOADING_S)  # its events
    assert fleet.next_due() == DOWNLOADING_S + 100
    assert secondary(fleet, DOWNLOADING_S + 100) == "Stopping"
    fleet.end_stage("train-1", "Stopping", now=DOWNLOADING_S + 101)
    assert secondary(fleet, DOWNLOADING_S + 101) == "MaxRuntimeExceeded"


def test_a_stop_before_the_instances_needs_no_process(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    fleet.stop("train-1", now=1.0)
    assert secondary(fleet, 100.0) == "Stopped"


def interrupted(fleet: FakeSageMaker) -> None:
    """Interrupt a job that trains."""
    fleet.create(spot(), now=0.0)
    fleet.end_stage("train-1", "Downloading", now=DOWNLOADING_S)
    fleet.interrupt("train-1", now=200.0)
    assert secondary(fleet, 3000.0) == "Interrupted"


@pytest.mark.parametrize("failure", [None, "AlgorithmError: it ended by SIGTERM"])
def test_an_interrupted_job_begins_again_when_its_processes_have_ended_however_they_did(
    fleet: FakeSageMaker, failure: str | None
):
    interrupted(fleet)
    fleet.end_stage("train-1", "Interrupted", failure=failure, now=3000.0)
    assert secondary(fleet, 3000.0) == "Restarting"
    assert secondary(fleet, 6000.0) == "Downloading"  # it has got instances by the time


def test_an_interrupted_job_that_is_stopped_is_stopped_when_its_processes_have_ended(fleet: FakeSageMaker):
    interrupted(fleet)
    fleet.stop("train-1", now=3000.0)
    assert secondary(fleet, 6000.0) == "Stopping"
    fleet.end_stage("train-1", "Stopping", now=6000.0)
    assert secondary(fleet, 6000.0) == "Stopped"


def test_an_interrupted_job_that_waits_for_instances_again_is_stopped_at_once(fleet: FakeSageMaker):
    interrupted(fleet)
    fleet.end_stage("train-1", "Interrupted", now=3000.0)
    fleet.stop("train-1", now=3001.0)
    assert secondary(fleet, 3100.0) == "Stopped"


def test_a_restart_of_the_sandbox_keeps_that_processes_of_an_interrupted_job_may_run(fleet: FakeSageMaker):
    interrupted(fleet)
    (document,) = [document for document in fleet.pop_changes().values() if document]
    assert TrainingJob.from_document(document).waits_for_processes


def test_metrics_are_shown_and_survive_a_restart(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    assert "FinalMetricDataList" not in fleet.describe("train-1", now=1.0)
    fleet.pop_changes()
    fleet.put_metric("train-1", "loss", 2.0, at=5.0)
    fleet.put_metric("train-1", "loss", 1.0, at=6.0)
    (document,) = [document for document in fleet.pop_changes().values() if document]
    described = TrainingJob.from_document(document).describe()
    assert described["FinalMetricDataList"] == [{"MetricName": "loss", "Value": 1.0, "Timestamp": 6.0}]


def test_a_job_that_an_earlier_version_saved_is_a_timer(fleet: FakeSageMaker):
    fleet.create(request(), now=0.0)
    (document,) = [document for document in fleet.pop_changes().values() if document]
    del document["why_timer"], document["final_metrics"]
    assert TrainingJob.from_document(document).why_timer == "the sandbox was started without --train"
