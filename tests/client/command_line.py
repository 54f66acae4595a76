"""What the tests of the command line share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.client.server import Fault

Run = Callable[..., tuple[int, str, str]]
Write = Callable[[Any], str]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))


def headway(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, which sees the client and the core only."""
    environment = os.environ | {"PYTHONPATH": SOURCES}
    return subprocess.run(
        [sys.executable, "-m", "headway_client.cli.main", *arguments],
        env=environment, capture_output=True, text=True, timeout=30, check=False, **options,
    )  # fmt: skip


def answers(status: int, **document: Any) -> Fault:
    """Return an answer in place of the queue's."""
    return Fault(status=status, body=json.dumps(document).encode())
