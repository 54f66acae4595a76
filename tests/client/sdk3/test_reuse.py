"""A second ``train`` of the same is the same job to the service, and a changed one is not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from sagemaker.core.training.configs import InputData

from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.fingerprints import key
from tests.client.sdk3.test_training import trainer

pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


@pytest.fixture
def train(server: ContractServer, aws: AwsStub, sources: str) -> Any:
    aws.objects[f"{BUCKET}/data/a"] = b"1"

    def run(**options: Any) -> str:
        """Train, and return the digest of the job."""
        known = set(server.queue.jobs)
        if known:
            time.sleep(1.1)  # the SDK names jobs by the second
        data = InputData(channel_name="train", data_source=f"s3://{BUCKET}/data")
        trainer(sources, **{"hyperparameters": {"epochs": 3}, **options}).train(input_data_config=[data], wait=False)
        (name,) = set(server.queue.jobs) - known
        return key(server.queue.jobs[name]["request"], aws.objects)

    return run


def test_a_second_train_of_the_same_is_the_same_job_although_its_prefixes_differ(train: Any, server: ContractServer):
    assert train() == train()
    one, two = (
        {each["ChannelName"]: each["DataSource"]["S3DataSource"]["S3Uri"] for each in job["request"]["InputDataConfig"]}
        for job in server.queue.jobs.values()
    )
    assert set(one) == {"train", "code", "sm_drivers"}
    assert one["code"] != two["code"]
    assert one["sm_drivers"] != two["sm_drivers"]


def test_a_changed_source_file_hyperparameter_or_input_is_another_job(train: Any, aws: AwsStub, sources: str):
    first = train()
    assert train(hyperparameters={"epochs": 4}) != first
    (Path(sources) / "train.py").write_text("print('training more')\n")
    changed = train()
    assert changed != first
    aws.objects[f"{BUCKET}/data/a"] = b"2"
    assert train() not in {first, changed}
