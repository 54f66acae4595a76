"""A queue, an AWS and a place with sources for the SageMaker Python SDK, version 3. Nothing leaves this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sagemaker.core.utils.utils import SageMakerClient, SingletonMeta

import headway_client
from tests.client.aws_stub import BUCKET, AwsStub
from tests.client.server import REGION


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
    monkeypatch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", str(defaults))
    monkeypatch.setenv("SAGEMAKER_VALIDATE_ROLE", "false")
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


@pytest.fixture(autouse=True)
def _installed(_sdk_settings: None) -> Iterator[None]:
    """The one line that a user adds."""
    headway_client.install()
    yield
    headway_client.uninstall()
    # The SDK keeps its default client of SageMaker, and the one of logs, for the whole process.
    SageMakerClient.reset()
    SingletonMeta._instances.clear()


@pytest.fixture
def sources(tmp_path: Path) -> str:
    """A folder with a training script."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "train.py").write_text("print('training')\n")
    return str(folder)
