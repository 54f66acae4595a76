"""Trainers of the SageMaker Python SDK 3 with the queue installed, otherwise unchanged."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError
from sagemaker.core import resources
from sagemaker.core.resources import ProcessingJob, TrainingJob
from sagemaker.core.training.configs import Compute, SourceCode, StoppingCondition
from sagemaker.train import ModelTrainer

from headway_client.job_sentences import unfinished_sentence
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.life import LINES, clock, in_order, preempted_once, step

# Without waiting, the SDK leaves its source folder to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")

ROLE = "arn:aws:iam::123456789012:role/training"


def trainer(sources: str, **options: Any) -> ModelTrainer:
    settings: dict[str, Any] = {
        "training_image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        "source_code": SourceCode(source_dir=sources, entry_script="train.py"),
        "compute": Compute(instance_type="ml.p5.48xlarge", instance_count=1, volume_size_in_gb=30),
        "stopping_condition": StoppingCondition(max_runtime_in_seconds=3600),
        "role": ROLE,
        "base_job_name": "vision",
    }
    return ModelTrainer(**settings | options)


def only_job(server: ContractServer) -> dict[str, Any]:
    (job,) = (job for name, job in server.queue.jobs.items() if name != "first")
    return job


@pytest.fixture
def preempted(monkeypatch: pytest.MonkeyPatch, server: ContractServer, aws: AwsStub) -> None:
    """Preempt a job once while the test waits for it; another user's job is ahead in the queue."""
    server.queue.add("first")
    lives: list[Any] = []

    def live() -> None:
        if not lives:
            lives.append(step(preempted_once(server, aws, only_job(server)["jobName"])))
        lives[0]()

    clock(monkeypatch, "sagemaker.core.resources", live)


def test_a_trainer_ends_in_the_queue_with_its_sources_in_s3(server: ContractServer, aws: AwsStub, sources: str):
    trained = trainer(sources, hyperparameters={"epochs": 3})

    trained.train(wait=False)

    job = only_job(server)
    assert job["jobName"].startswith("vision-")
    assert job["request"]["HyperParameters"]["epochs"] == "3"
    assert job["demand"] == {"ml.p5.48xlarge": 1}
    assert any(key.endswith("/train.py") for key in aws.objects)
    assert [call for call in aws.calls if "TrainingJob" in call] == []


def test_train_shows_the_place_and_the_logs_of_every_attempt(
    preempted: None,
    server: ContractServer,
    sources: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
):
    # The SDK prints logs through this logger.
    caplog.set_level("INFO", resources.logger.name)

    trainer(sources).train(wait=True, logs=True)

    name = only_job(server)["jobName"]
    assert in_order(caplog.text, LINES)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("headway: ")] == [
        f"headway: {name} waits, place 2 in the queue: Waits for 1 ml.p5.48xlarge.",
        f"headway: {name} runs as {name}: started on 1 ml.p5.48xlarge",
        f"headway: {name} is preempted and waits for its next turn, place 2 in the queue: waits for 1 ml.p5.48xlarge",
        f"headway: {name} runs as {name}-r2: started on 1 ml.p5.48xlarge",
        f"headway: {name} has completed",
    ]


def test_train_without_logs_waits_for_the_end(preempted: None, server: ContractServer, sources: str):
    trained = trainer(sources)

    trained.train(wait=True, logs=False)

    assert trained._latest_training_job.training_job_status == "Completed"
    assert trained._latest_training_job.training_job_name == only_job(server)["jobName"]


def test_ctrl_c_leaves_the_job_in_the_queue_and_prints_how_to_stop_it(
    server: ContractServer, sources: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    clock(monkeypatch, "sagemaker.core.resources", lambda: signal.raise_signal(signal.SIGINT))

    # The SDK's telemetry swallows the KeyboardInterrupt.
    with suppress(KeyboardInterrupt):
        trainer(sources).train(wait=True)
    for thread in threading.enumerate():
        if thread.name == "headway-unfinished-jobs":
            thread.join()

    name = only_job(server)["jobName"]
    assert f"headway: {unfinished_sentence(name)}\n" in capsys.readouterr().err
    assert only_job(server)["jobState"] == "pending"


def test_a_training_job_is_described_awaited_and_stopped_by_its_name(
    preempted: None, server: ContractServer, sources: str
):
    trainer(sources).train(wait=False)
    name = only_job(server)["jobName"]

    found = TrainingJob.get(name)
    assert (found.training_job_status, found.secondary_status) == ("InProgress", "Pending")
    assert found.resource_config.instance_count == 1
    found.wait(poll=1, logs=True)
    assert found.training_job_status == "Completed"

    trainer(sources, base_job_name="other").train(wait=False)
    other = next(name for name in server.queue.jobs if name.startswith("other-"))
    TrainingJob.get(other).stop()
    assert server.queue.jobs[other]["jobState"] == "stopped"


def test_a_listing_has_the_jobs_of_the_queue_and_of_sagemaker(server: ContractServer, sources: str):
    trainer(sources).train(wait=False)

    assert [job.training_job_name for job in TrainingJob.get_all()] == [only_job(server)["jobName"]]


def test_a_refusal_reaches_the_user_of_train_with_every_field(sources: str):
    big = Compute(instance_type="ml.p5.48xlarge", instance_count=3, volume_size_in_gb=30)

    with pytest.raises(ClientError, match=r"ResourceConfig\.InstanceCount: ask for at most 2\."):
        trainer(sources, compute=big).train(wait=False)


def test_processing_jobs_are_sagemakers(server: ContractServer, aws: AwsStub):
    with suppress(Exception):
        ProcessingJob.get("processing")

    assert "DescribeProcessingJob" in aws.calls
    assert server.received == []
