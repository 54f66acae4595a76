"""Nothing of a rehearsal survives its interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.training.jobs import processes_with, training_settings
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

ENDLESS = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", MARK], start_new_session=True)
print("step 1", flush=True)
time.sleep(600)
"""


def nothing_is_left(folder: Path, mark: str) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    # The sandbox's server, the supervisor and the container have the folder in their command lines.
    running = [*processes_with(mark), *processes_with(f"{folder}/")]
    return not running and str(folder) not in mounts and list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_rehearsal_leaves_no_process_no_mount_and_no_file(tmp_path: Path, number: signal.Signals):
    training_settings()  # skips where scripts cannot be isolated
    mark = f"mark-of-{tmp_path.parent.name}-{tmp_path.name}"
    folder, script = tmp_path / "tmp", tmp_path / "train.py"
    folder.mkdir()
    script.write_text(f"MARK = {mark!r}\n{ENDLESS}")
    process = subprocess.Popen(
        [sys.executable, "-m", "headway_client.cli.main", "rehearse", str(script)],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: processes_with(mark), timeout_s=60.0)
    assert not nothing_is_left(folder, mark)

    process.send_signal(number)
    _out, err = process.communicate(timeout=60.0)

    assert (process.returncode, err.splitlines()[-1]) == (
        130,
        "headway: interrupted; nothing of the rehearsal is left.",
    )
    assert nothing_is_left(folder, mark)
