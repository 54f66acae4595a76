"""A queue, an S3 and a place with sources for the SageMaker SDK, version 2. Nothing leaves this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.aws_stub import BUCKET, AwsStub
from tests.client.server import REGION

# The SDK warns at its import that version 3 is out, and warnings fail tests.
os.environ["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"


def pytest_itemcollected(item: pytest.Item) -> None:
    # SDK 2.208 leaves its file with defaults open.
    item.add_marker(pytest.mark.filterwarnings("ignore:unclosed file .*sagemaker.yaml:ResourceWarning"))


@pytest.fixture
def aws() -> Iterator[AwsStub]:
    with AwsStub().running() as running:
        yield running


@pytest.fixture(autouse=True)
def _sdk_settings(endpoint_set: str, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All the settings a user makes: where the queue is, where AWS is, and no telemetry."""
    defaults = tmp_path / "sagemaker.yaml"
    # A bucket has to be named: making up the account's own would ask STS for the account.
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {BUCKET}}}}}"
    defaults.write_text(f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n")
    # The SDK checks this file, at half a second, for each session, and again for some twenty settings of an estimator.
    for module in ("sagemaker.utils", "sagemaker.config.config"):
        monkeypatch.setattr(f"{module}.validate_sagemaker_config", lambda _: None)
    monkeypatch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


@pytest.fixture
def sources(tmp_path: Path) -> str:
    """A folder with a training script."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "train.py").write_text("print('training')\n")
    (folder / "model.py").write_text("LAYERS = 3\n")
    return str(folder)
