"""docs/how-to/move.md between two sandboxes: the queue of one goes on in the other one, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway_sandbox.local.sandbox import Sandbox
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import DURATIONS, PARAMETERS
from tests.e2e.functions import Functions, table_of
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import USUAL_S
from tests.service.world import P5

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = {"pools": {P5: {"size": 2}}, "limits": {"waitingPerOwner": 50}}


@pytest.fixture
def other() -> Iterator[Sandbox]:
    """A sandbox without jobs, which stands for another region."""
    with Sandbox(speed=100, durations=DURATIONS, parameters=PARAMETERS) as sandbox:
        yield sandbox


def move(sandbox: Sandbox, *words: str) -> str:
    """Run deploy/move.py as an operator does; return its output."""
    command = [sys.executable, "-m", "deploy.move", *words]
    environment = sandbox.info.environment()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_a_queue_goes_on_in_another_region_and_nothing_is_lost(
    sb: Sandbox, queue: QueueView, other: Sandbox, tmp_path: Path
):
    queue.api.put_config(DOCUMENT, force=True, reason="a limit")
    queue.submit("done")
    queue.wait_until_training("done")
    queue.finish("done")
    queue.wait_for(done="completed")
    for name in ("runs", "trains"):
        queue.submit(name, 3)
    queue.wait_until_training("runs", "trains")
    for name, priority in (("last", 1), ("first", 2), ("held", 2)):
        queue.submit(name, priority)
    queue.cli("hold", queue.prefix + "held")
    order, history = queue.waiting(), queue.history("done")
    settings = queue.api.get_config().settings

    file, began = str(tmp_path / "queue.json.gz"), time.monotonic()
    (folder := tmp_path / "other").mkdir()
    with closing(CommandLine(other, folder)) as cli, Functions(sb) as here, Functions(other) as there:
        new = QueueView(other, cli, queue.prefix)
        here.halt()
        assert move(sb, "save", table_of(sb), file).endswith("items saved\n")
        there.halt()
        loaded = move(other, "load", table_of(other), file, "--second", datetime.now(UTC).isoformat())
        assert [line.split(":")[0].strip() for line in loaded.splitlines()[1:]] == [
            "2 training jobs stay behind",
            f"{queue.prefix}runs",
            f"{queue.prefix}trains",
        ]
        there.go_on()

        # All jobs are there, in their order, with their history and that of the configuration.
        assert new.states() == dict.fromkeys(("runs", "trains", "first", "last", "held"), "pending") | {
            "done": "completed"
        }
        assert new.waiting() == ["runs", "trains", *order]
        assert new.history("done") == history
        assert "a limit" in [each.reason for each in new.api.config_history().versions]
        assert new.api.get_config().settings == settings
        assert new.api.put_config({**settings, "overheadSeconds": 7}).version == settings["version"] + 1

        # They start once the patrol has seen that SageMaker has no training job that the table does not contain.
        def patrol() -> None:
            other.invoke("Patrol")

        new.wait_for(runs="running", trains="running", meanwhile=patrol, timeout_s=VISIBLE_AFTER_S + USUAL_S)
        print(f"moved, and training again, after {time.monotonic() - began:.0f} s")
        for name in ("runs", "trains", "first", "last"):
            new.finish(name)
        new.wait_for(runs="completed", trains="completed", first="completed", last="completed", held="pending")
        assert new.attempts("runs") == [f"{queue.prefix}runs", new.attempts("runs")[1]]
        new.check_records(size=2)
