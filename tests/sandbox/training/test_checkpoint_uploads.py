"""The supervisor uploads checkpoints while the script runs, and not after the loss of the hosts."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from headway_sandbox.training import supervisor
from headway_sandbox.training.assignment import Assignment
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.errors import StorageFault
from headway_sandbox.training.platform.checkpoints import Checkpoints
from headway_sandbox.training.settings import Interpreter
from headway_sandbox.training.supervisor import Supervisor
from tests.sandbox.waiting import until


class Uploads:
    """Counts uploads; the second one fails."""

    def __init__(self) -> None:
        self.count = 0

    def upload(self) -> int:
        self.count += 1
        if self.count == 2:
            raise StorageFault("S3 does not answer")
        return 1


@pytest.fixture
def messages() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch, messages: io.BytesIO, tmp_path: Path) -> Supervisor:
    monkeypatch.setattr(supervisor, "CHECKPOINTS_EVERY_S", 0.01)
    assignment = Assignment(
        arn="arn",
        request={"TrainingJobName": "job", "AlgorithmSpecification": {}},
        resources={"InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
        folder=str(tmp_path / "job"),
        interpreter=Interpreter(folder="/bin", programs=()),
        isolation=Isolation.ROOT,
        stop_grace_s=1.0,
        disk_bytes=1,
        memory_bytes=None,
        port=1,
        relay="",
        region="eu-west-1",
        credentials=("", "", ""),
    )
    return Supervisor(assignment, messages)


def uploading() -> bool:
    return any(thread.name == "checkpoints" for thread in threading.enumerate())


def test_checkpoints_are_uploaded_again_and_again_also_after_a_failure(running: Supervisor, messages: io.BytesIO):
    uploads = Uploads()
    with running._uploading(cast(Checkpoints, uploads)):
        until(lambda: uploads.count >= 3)
    assert not uploading()
    told: list[dict[str, Any]] = [json.loads(line) for line in messages.getvalue().splitlines()]
    assert [each["kind"] for each in told[:3]] == ["checkpoint", "log", "checkpoint"]
    assert told[1]["text"] == "Sandbox: the checkpoints are not uploaded yet: S3 does not answer"


def test_nothing_is_uploaded_after_the_loss_of_the_hosts(running: Supervisor):
    uploads = Uploads()
    with running._uploading(cast(Checkpoints, uploads)):
        until(lambda: uploads.count)
        running.lose()
        until(lambda: not uploading())
