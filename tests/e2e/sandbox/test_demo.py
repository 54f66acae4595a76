"""The demo succeeds, can fail, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.demo import preemption, refusal, stage
from headway_sandbox.local import training_options
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5
from headway_sandbox.training.container.isolation import CannotIsolate
from tests.e2e.processes import processes_of
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

TIMEOUT_S = 300


@contextmanager
def running_demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The demo in a separate process, with its files under a folder, once its sandbox's server runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headway_sandbox.demo.preemption"], env={**os.environ, "TMPDIR": str(folder)}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        eventually(lambda: process.poll() is not None or processes_of(folder), "the demo starts a server")
        yield process
    finally:
        process.kill()
        process.wait()


def left_behind(folder: Path) -> list[str]:
    """Processes and folders of a demo that has ended."""
    return [*processes_of(folder), *map(str, folder.glob("headway-sandbox-*"))]


def test_the_demo_completes_and_leaves_nothing_behind(tmp_path: Path):
    with running_demo(tmp_path) as process:
        assert left_behind(tmp_path) != [], "it could not be seen whether anything is left behind"
        told, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, told
    print(told.splitlines()[-1])
    assert "✓ job1 preempted, job4 running" in told
    assert "✓ job1 completed, job2 completed, job3 completed, job4 completed" in told
    assert left_behind(tmp_path) == []


def test_the_workflow_is_computed_once_and_its_second_run_reuses_everything(tmp_path: Path):
    try:
        training_options.settings([f"*={sys.executable}"])
    except CannotIsolate as error:
        # The kernel does not let this user separate training scripts, as in some containers; nothing is run without.
        pytest.skip(str(error))
    command = [sys.executable, "-m", "headway_sandbox.demo.workflow"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "✓ sweep-again_3 has the outputs of sweep_3" in demo.stdout
    assert "✓ SageMaker has started no training job the second time: it still has 8" in demo.stdout
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: signal.Signals):
    with running_demo(tmp_path) as process:
        process.send_signal(number)
        told, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode != 0, told
    assert left_behind(tmp_path) == []


def test_the_demo_fails_if_the_queue_behaves_differently(
    sb: Sandbox, queue: QueueView, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    queue.api.put_config({"pools": {P5: {"size": 3}}}, force=True)

    def other_sandbox(**_: Any) -> nullcontext[Sandbox]:
        return nullcontext(sb)

    monkeypatch.setattr(stage, "Sandbox", other_sandbox)
    assert preemption.main([]) == 1
    captured = capsys.readouterr()
    assert f"✗ SageMaker runs 3 {P5}, but there are 2" in captured.err
    assert "All jobs have ended" not in captured.out


def test_a_quota_refuses_one_job_and_the_others_go_on(
    sb: Sandbox, queue: QueueView, capsys: pytest.CaptureFixture[str]
):
    queue.api.put_config({"pools": {refusal.POOL: {"size": refusal.SIZE}}}, force=True)
    refusal.play(stage.Stage(sb, {refusal.POOL: refusal.SIZE}), tags={})
    # Sentences are folded at the width of a terminal.
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r" Why its last \d+ launches in a row on 4 ml\.g5\.xlarge got no instances: ", told)
    assert "✓ small completed, next completed" in told


def test_the_board_opens_on_a_busy_queue_and_ends_by_itself(tmp_path: Path):
    command = [sys.executable, "-m", "headway_sandbox.demo.board", "--no-browser", "--seconds", "45"]
    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "open http://127.0.0.1:" in done.stdout
    assert left_behind(tmp_path) == []
