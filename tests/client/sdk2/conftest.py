"""A queue, an S3 and a place with sources for the SageMaker SDK, version 2. Nothing leaves this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# The SDK warns at its import that version 3 is out, and warnings fail tests.
os.environ["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"


def pytest_itemcollected(item: pytest.Item) -> None:
    # SDK 2.208 leaves its file with defaults open.
    item.add_marker(pytest.mark.filterwarnings("ignore:unclosed file .*sagemaker.yaml:ResourceWarning"))


@pytest.fixture(autouse=True)
def _sdk_settings(sdk_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # The SDK checks its defaults for each session, at half a second, and for some twenty settings of an estimator.
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
