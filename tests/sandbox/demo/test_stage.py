"""What a demo prints of its queue, which nothing serves here."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headway_client.cli.output import times
from headway_client.http.api import HeadwayApi
from headway_client.models import Job
from headway_sandbox.demo.stage import Stage
from headway_sandbox.local.sandbox import Sandbox
from tests.client.fakes.contract import Queue

HOUR_S = 3600


def _waiting(entered_s: float, *, why: str = "Waits.") -> Job:
    queue = Queue()
    queue.add("urgent")
    document = queue.answer("GET", "/jobs/urgent", b"")[1]
    entered = datetime.fromtimestamp(entered_s, UTC).isoformat()
    return Job.from_document({**document, "entryTime": entered, "reason": {"code": "Waits", "message": why}})


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A demo whose queue is a day ahead of this machine, as training time runs faster."""
    monkeypatch.setattr(times, "now_s", times.now_s)
    monkeypatch.setattr(HeadwayApi, "now_s", lambda _self: time.time() + 24 * HOUR_S)
    info = SimpleNamespace(access_key="AKIA", secret_key="secret", region="eu-west-1")
    sandbox: Any = SimpleNamespace(info=info, endpoint="http://127.0.0.1:1/v1")
    return Stage(cast("Sandbox", sandbox), {})


def test_the_age_of_a_job_is_by_the_clock_of_the_queue(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    stage._show([_waiting(time.time() + 21 * HOUR_S)])
    assert "  3 h  " in capsys.readouterr().out


def test_the_table_is_no_wider_than_the_terminal(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stage._show([_waiting(time.time(), why="It waits for other jobs. " * 9)])
    lines = capsys.readouterr().out.strip("\n").splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("    ") for line in lines)
