"""Fixtures for the SageMaker Python SDK 3: a queue, AWS and a source folder, all on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sagemaker.core.utils.utils import SageMakerClient, SingletonMeta

import headway_client


@pytest.fixture(autouse=True)
def _sdk_settings(sdk_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGEMAKER_VALIDATE_ROLE", "false")


@pytest.fixture(autouse=True)
def _installed(_sdk_settings: None) -> Iterator[None]:
    """Install the queue, the one line that users add."""
    headway_client.install()
    yield
    headway_client.uninstall()
    # The SDK caches its default clients of SageMaker and logs for the whole process.
    SageMakerClient.reset()
    SingletonMeta._instances.clear()


@pytest.fixture
def sources(tmp_path: Path) -> str:
    """A folder with a training script."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "train.py").write_text("print('training')\n")
    return str(folder)
