from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from headway_client.install_hint import install_command

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("recorded", "command"),
    [
        ({"url": "file:///src/headway", "dir_info": {"editable": True}}, "pip install -e '/src/headway[board]'"),
        ({"url": "file:///src/headway", "dir_info": {}}, "pip install '/src/headway[board]'"),
        (
            {"url": "file:///a%20b/headway-0.1.0-py3-none-any.whl", "archive_info": {}},
            "pip install '/a b/headway-0.1.0-py3-none-any.whl[board]'",
        ),
        (
            {"url": "https://example.com/headway-0.1.0-py3-none-any.whl", "archive_info": {}},
            "pip install 'headway[board] @ https://example.com/headway-0.1.0-py3-none-any.whl'",
        ),
        (None, "pip install 'headway[board]'"),
    ],
    ids=["a checkout in place", "a checkout", "a wheel", "a wheel elsewhere", "an index"],
)
def test_the_command_names_what_the_installation_was_made_from(recorded: dict[str, Any] | None, command: str):
    distribution = mock.Mock()
    distribution.read_text.return_value = json.dumps(recorded) if recorded else None
    with mock.patch.object(metadata, "distribution", return_value=distribution):
        assert install_command("board") == command


def test_without_an_installation_the_checkout_is_named():
    with mock.patch.object(metadata, "distribution", side_effect=metadata.PackageNotFoundError):
        assert install_command("sdk3") == f"pip install -e '{ROOT}[sdk3]'"
