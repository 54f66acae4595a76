"""A second ``fit`` of the same is the same job to the service, and a changed one is not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from sagemaker.inputs import TrainingInput
from sagemaker.pytorch import PyTorch

from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.fingerprints import key
from tests.client.sdk2.test_session import ROLE, session


@pytest.fixture
def fit(server: ContractServer, aws: AwsStub, sources: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    aws.objects[f"{BUCKET}/data/a"] = b"1"

    def run(name: str, **options: Any) -> str:
        """Fit an estimator under a name, and return the digest of the job."""
        settings: dict[str, Any] = {
            "entry_point": "train.py",
            "source_dir": sources,
            "role": ROLE,
            "framework_version": "2.1.0",
            "py_version": "py310",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 1,
            "hyperparameters": {"epochs": 3},
            "sagemaker_session": session(),
        }
        estimator = PyTorch(**settings | options)
        estimator.fit({"train": TrainingInput(f"s3://{BUCKET}/data")}, wait=False, job_name=name)
        return key(server.queue.jobs[name]["request"], aws.objects)

    return run


def test_a_second_fit_of_the_same_is_the_same_job_although_its_archive_and_its_names_differ(
    fit: Any, server: ContractServer, aws: AwsStub
):
    first = fit("one")
    time.sleep(1.1)  # the archive has times in seconds
    assert fit("two") == first
    one, two = (server.queue.jobs[name]["request"]["HyperParameters"] for name in ("one", "two"))
    assert one["sagemaker_submit_directory"] != two["sagemaker_submit_directory"]
    archives = [content for place, content in aws.objects.items() if place.endswith("sourcedir.tar.gz")]
    assert len(set(archives)) == 2


def test_a_changed_source_file_hyperparameter_or_input_is_another_job(fit: Any, aws: AwsStub, sources: str):
    first = fit("one")
    assert fit("two", hyperparameters={"epochs": 4}) != first
    (Path(sources) / "model.py").write_text("LAYERS = 4\n")
    changed = fit("three")
    assert changed != first
    aws.objects[f"{BUCKET}/data/a"] = b"2"
    assert fit("four") not in {first, changed}


@pytest.mark.parametrize("reuse", [True, False])
def test_the_handle_to_the_queue_asks_for_reuse_and_says_what_became_of_it(
    server: ContractServer, aws: AwsStub, sources: str, capsys: pytest.CaptureFixture[str], *, reuse: bool
):
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=sources,
        role=ROLE,
        framework_version="2.1.0",
        py_version="py310",
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        sagemaker_session=session(),
    )
    TrainingQueue().submit(estimator, f"s3://{BUCKET}/data", "one", reuse=reuse, reuse_unpinned=reuse)
    (body,) = [json.loads(each.body) for each in server.received if each.method == "POST"]
    assert (body.get("reuse", False), body.get("reuseUnpinned", False)) == (reuse, reuse)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("headway: ")]
    assert told == ["headway: one waits, place 1 in the queue: Waits for 1 ml.p5.48xlarge."] * reuse
