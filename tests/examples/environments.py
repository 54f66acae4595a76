"""Code and scripts that need the packages of an example."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from examples.runner import CLIENT, ROOT, python_of
from tests.sandbox.waiting import until

TIMEOUT_S = 120


def python_with(environment: str) -> str:
    """Return the Python of an environment in `.envs`; skips the test where it is not installed."""
    python = python_of(environment)
    # Heavy SDKs have environments of their own, which quick tests do without.
    if not python.exists():
        pytest.skip(f"The environment is not installed: run `make .envs/{environment}/.made`.")
    return str(python)


def run_with(environment: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with the packages of an environment, and with the client."""
    return subprocess.run(
        [python_with(environment), "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": CLIENT},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def start_script(environment: str, script: str, *options: str) -> subprocess.Popen[str]:
    """Start a training script as its host does, with the packages of an environment."""
    return subprocess.Popen(
        [python_with(environment), str(ROOT / script), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def handles_sigterm(process: subprocess.Popen[str]) -> bool:
    """Return whether a process has a handler for SIGTERM (proc_pid_status(5), SigCgt)."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def exit_code_after_sigterm(process: subprocess.Popen[str]) -> int:
    """Send SIGTERM to a script as soon as it handles it, and return its exit code."""
    with process:
        until(lambda: process.poll() is not None or handles_sigterm(process), timeout_s=TIMEOUT_S)
        process.send_signal(signal.SIGTERM)
        return process.wait(TIMEOUT_S)
