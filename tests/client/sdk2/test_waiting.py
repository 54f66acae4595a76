"""Waiting for a job prints its state and its logs until its end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from sagemaker.estimator import Estimator
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner

from headway_client import QueueTrainingJobSession
from headway_client.job_sentences import unfinished_sentence
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.life import LINES, clock, in_order, interrupt, preempted_once, step
from tests.client.sdk2.test_session import ROLE, pytorch, session

PLACE = "Headway (place 2 in the queue): Waits for 1 ml.p5.48xlarge."
PREEMPTED = "preempted, waits for its next turn: waits for 1 ml.p5.48xlarge"


@pytest.fixture
def queue(server: ContractServer) -> QueueTrainingJobSession:
    """A session, with another user's job ahead in the queue."""
    server.queue.add("first")
    return session()


@pytest.fixture
def preempted(monkeypatch: pytest.MonkeyPatch, server: ContractServer, aws: AwsStub) -> None:
    """Preempt job1 once while the test waits for it."""
    lives: list[Any] = []

    def live() -> None:
        if not lives and "job1" in server.queue.jobs:
            lives.append(step(preempted_once(server, aws, "job1")))
        if lives:
            lives[0]()

    clock(monkeypatch, "sagemaker.session", live)


@pytest.mark.parametrize("logs", ["All", True, "Training"])
def test_fit_shows_the_place_and_the_logs_of_every_attempt(
    queue: QueueTrainingJobSession,
    preempted: None,
    sources: str,
    capsys: pytest.CaptureFixture[str],
    logs: str | bool,
):
    pytorch(sources, queue).fit(job_name="job1", logs=logs)

    shown = capsys.readouterr().out
    assert in_order(shown, [PLACE, *LINES[:3], *LINES[3:]])
    assert in_order(shown, [PLACE, LINES[0], PREEMPTED, LINES[3]])


@pytest.mark.parametrize("logs", ["None", False])
def test_fit_without_logs_shows_the_place_too(
    queue: QueueTrainingJobSession,
    preempted: None,
    sources: str,
    capsys: pytest.CaptureFixture[str],
    logs: str | bool,
):
    pytorch(sources, queue).fit(job_name="job1", logs=logs)

    shown = capsys.readouterr().out
    assert in_order(shown, [PLACE, "Training of job1.", PREEMPTED, "Training of job1-r2", "Completed of job1-r2"])
    assert not any(line in shown for line in LINES)


def test_an_ended_job_has_all_its_logs(
    queue: QueueTrainingJobSession, preempted: None, sources: str, capsys: pytest.CaptureFixture[str]
):
    pytorch(sources, queue).fit(job_name="job1", logs=False)
    capsys.readouterr()

    queue.logs_for_job("job1")

    assert in_order(capsys.readouterr().out, LINES)


@pytest.mark.parametrize("logs", ["All", False])
def test_ctrl_c_leaves_the_job_in_the_queue_and_prints_how_to_stop_it(
    queue: QueueTrainingJobSession,
    server: ContractServer,
    sources: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    logs: str | bool,
):
    clock(monkeypatch, "sagemaker.session", interrupt)

    # The SDK's telemetry swallows the KeyboardInterrupt in some versions.
    with suppress(KeyboardInterrupt):
        pytorch(sources, queue).fit(job_name="job1", logs=logs)

    assert capsys.readouterr().err.splitlines()[1:] == [f"headway: {unfinished_sentence('job1')}"]
    assert server.queue.jobs["job1"]["jobState"] == "pending"


def test_an_estimator_is_attached_to_a_job_by_its_name(
    queue: QueueTrainingJobSession,
    preempted: None,
    server: ContractServer,
    aws: AwsStub,
    sources: str,
    capsys: pytest.CaptureFixture[str],
):
    pytorch(sources, queue, hyperparameters={"epochs": 3}).fit(job_name="job1", wait=False)

    attached = PyTorch.attach("job1", sagemaker_session=queue)

    assert attached.latest_training_job.name == "job1"
    assert attached.hyperparameters()["epochs"] == "3"
    assert PLACE in capsys.readouterr().out
    attached.latest_training_job.wait()
    assert in_order(capsys.readouterr().out, LINES)


def test_tuning_and_other_calls_are_sagemakers(server: ContractServer, aws: AwsStub, sources: str):
    estimator = Estimator(
        image_uri="123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        role=ROLE,
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        sagemaker_session=session(),
    )
    tuner = HyperparameterTuner(
        estimator, "loss", {"lr": ContinuousParameter(0.1, 0.2)}, [{"Name": "loss", "Regex": "loss=(.*)"}], max_jobs=2
    )

    tuner.fit(wait=False, job_name="tuning")

    assert aws.calls == ["CreateHyperParameterTuningJob"]
    assert server.received == []
