"""The examples of docs/how-to/clients/sdk-v2.md run unchanged."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.life import LINES, clock, in_order, preempted_once, step
from tests.client.pages import example, headings
from tests.client.sdk2.test_session import BOTO_SESSION, ROLE

PAGE = "docs/how-to/clients/sdk-v2.md"


@pytest.fixture(autouse=True)
def _default_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", BOTO_SESSION)


def test_the_examples_of_the_page(
    server: ContractServer,
    aws: AwsStub,
    sources: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    settings = {
        "entry_point": "train.py",
        "source_dir": sources,
        "role": ROLE,
        "framework_version": "2.1.0",
        "py_version": "py310",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 1,
    }
    lives: list[Any] = []

    def live() -> None:
        if not lives:
            lives.append(step(preempted_once(server, aws, "job1")))
        lives[0]()

    clock(monkeypatch, "sagemaker.session", live)
    assert headings(PAGE) == ["The one line", "Stop, describe, attach"]

    exec(example(PAGE, "The one line"), {"settings": settings, "job_name": "job1"})
    assert in_order(capsys.readouterr().out, LINES)
    assert server.queue.jobs["job1"]["priority"] == 5

    server.queue.jobs["job1"].update(jobState="pending", liveAttempt=None)
    exec(example(PAGE, "Stop, describe, attach"), {"job_name": "job1"})
    assert "Stopped" in capsys.readouterr().out
