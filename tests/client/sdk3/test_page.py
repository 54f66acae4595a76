"""The examples of docs/how-to/clients/sdk-v3.md run unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from sagemaker.core.training.configs import Compute, SourceCode

from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.life import clock, preempted_once, step
from tests.client.pages import example, headings
from tests.client.sdk3.test_training import ROLE, only_job

PAGE = "docs/how-to/clients/sdk-v3.md"
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


def test_the_examples_of_the_page(
    server: ContractServer,
    aws: AwsStub,
    sources: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    settings = {
        "training_image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        "source_code": SourceCode(source_dir=sources, entry_script="train.py"),
        "compute": Compute(instance_type="ml.p5.48xlarge", instance_count=1, volume_size_in_gb=30),
        "role": ROLE,
        "base_job_name": "vision",
    }
    lives: list[Any] = []

    def live() -> None:
        if not lives:
            lives.append(step(preempted_once(server, aws, only_job(server)["jobName"])))
        lives[0]()

    clock(monkeypatch, "sagemaker.core.resources", live)
    assert headings(PAGE) == ["Install the queue", "Stop, describe, get"]

    exec(example(PAGE, "Install the queue"), {"settings": settings})
    job = only_job(server)
    assert (job["priority"], job["jobState"]) == (5, "completed")

    waiting = server.queue.add("waiting")
    exec(example(PAGE, "Stop, describe, get"), {"job_name": "waiting"})
    assert "InProgress Pending" in capsys.readouterr().out
    assert waiting["jobState"] == "stopped"
