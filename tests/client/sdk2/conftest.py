"""Fixtures for the SageMaker SDK 2: a queue, S3 and a source folder, all on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# On import the SDK warns about version 3, and warnings fail tests.
os.environ["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"


def pytest_itemcollected(item: pytest.Item) -> None:
    # SDK 2.208 does not close its file with defaults.
    item.add_marker(pytest.mark.filterwarnings("ignore:unclosed file .*sagemaker.yaml:ResourceWarning"))


@pytest.fixture(autouse=True)
def _sdk_settings(sdk_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # The SDK validates its defaults for each session and for about twenty settings of an estimator, 0.5 s each time.
    for module in ("sagemaker.utils", "sagemaker.config.config"):
        monkeypatch.setattr(f"{module}.validate_sagemaker_config", lambda _: None)


@pytest.fixture
def sources(tmp_path: Path) -> str:
    """A folder with a training script."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "train.py").write_text("print('training')\n")
    (folder / "model.py").write_text("LAYERS = 3\n")
    return str(folder)
