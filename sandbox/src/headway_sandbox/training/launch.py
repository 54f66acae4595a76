"""How a supervisor is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import headway
import headway_sandbox
from headway_sandbox.training import supervisor
from headway_sandbox.training.assignment import Assignment


def command(assignment: Assignment) -> list[str]:
    """Return the command of a job's supervisor, which reads the assignment from its standard input."""
    return [sys.executable, "-m", supervisor.__name__, assignment.folder]


def environment() -> dict[str, str]:
    """Return the environment of supervisors: no credentials, and this package."""
    ours = [Path(package.__path__[0]).resolve().parent for package in (headway_sandbox, headway)]
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, ours)), "PYTHONDONTWRITEBYTECODE": "1"}
