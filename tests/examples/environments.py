"""Code that needs the packages of an example."""

from __future__ import annotations

import subprocess

import pytest

from examples.runner import ROOT, python_of


def run_with(environment: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with the Python of an environment in `.envs`; skips the test where it is not installed."""
    python = python_of(environment)
    if not python.exists():
        pytest.skip(f"The environment is not installed: run `make .envs/{environment}/.made`.")
    return subprocess.run([str(python), "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
