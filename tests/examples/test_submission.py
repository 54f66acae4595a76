"""The requests of the examples."""

from __future__ import annotations

import re
from typing import Any

import boto3
import pytest
from botocore.validate import validate_parameters

from examples.submission import Account, training_request

ACCOUNT = Account(role_arn="arn:aws:iam::123456789012:role/HeadwayTrainingRole", bucket="jobs")


class Uploads:
    """The uploaded files by key."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def upload_file(self, path: str, bucket: str, key: str) -> None:
        self.files[f"{bucket}/{key}"] = path


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Uploads:
    made = Uploads()
    monkeypatch.setattr(boto3, "client", lambda _service: made)
    return made


def request(**changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "image": "numpy:1",
        "resources": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
        "metrics": ["loss"],
        **changes,
    }
    return training_request(ACCOUNT, "a", ["examples/sweep/train.py"], {"hidden": 4, "rate": 0.5}, **options)


def test_a_request_is_one_of_sagemakers(uploads: Uploads, monkeypatch: pytest.MonkeyPatch):
    made = request(checkpoints=True)
    monkeypatch.undo()
    model = boto3.client("sagemaker", region_name="eu-west-1").meta.service_model
    shape = model.operation_model("CreateTrainingJob").input_shape
    assert shape is not None
    validate_parameters(made, shape)
    assert made["CheckpointConfig"] == {"S3Uri": "s3://jobs/a/checkpoints"}


def test_its_scripts_keep_their_paths_and_get_its_arguments(uploads: Uploads):
    algorithm = request()["AlgorithmSpecification"]
    (key,) = uploads.files
    assert key == "jobs/a/code/examples/sweep/train.py"
    assert algorithm["ContainerEntrypoint"] == ["python", "/opt/ml/input/data/code/examples/sweep/train.py"]
    assert algorithm["ContainerArguments"] == ["--hidden", "4", "--rate", "0.5"]


def test_a_job_without_checkpoints_has_no_folder_for_them(uploads: Uploads):
    assert "CheckpointConfig" not in request()


@pytest.mark.parametrize(
    ("line", "value"),
    [("step 1 loss=0.5", "0.5"), ("loss=1e-05 x=3", "1e-05"), ("valloss=1", None), ("loss 1", None)],
)
def test_metrics_are_found_in_the_output(uploads: Uploads, line: str, value: str | None):
    (metric,) = request()["AlgorithmSpecification"]["MetricDefinitions"]
    found = re.search(metric["Regex"], line)
    assert (found and found[1]) == value
