from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway_sandbox.local import training_options
from headway_sandbox.rehearsal import rehearse as module
from headway_sandbox.rehearsal.errors import CannotRehearse
from headway_sandbox.rehearsal.rehearse import Options, rehearse
from headway_sandbox.rehearsal.subject import Subject
from headway_sandbox.sagemaker.request_builder import training_request
from headway_sandbox.training.container import isolation
from headway_sandbox.training.container.isolation import CannotIsolate
from headway_sandbox.training.settings import TrainingSettings
from tests.sandbox.rehearsal.attempts import BASELINE

SUBJECT = Subject(request=training_request("job", [("ml.m5.xlarge", 1)], run_s=1))


def refuse(_line: str) -> None:
    raise AssertionError("something ran")


def test_without_isolation_nothing_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(isolation, "trial", lambda _isolation: "unshare: Operation not permitted")
    with pytest.raises(CannotIsolate, match=r"cannot be isolated on this machine.*Operation not permitted"):
        rehearse(SUBJECT, Options(timeout_s=60.0), report=refuse)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preempt_after": "soon"}, "--preempt-after soon: 'soon' is neither seconds"),
        ({}, "There is no script to run: its request has neither ContainerEntrypoint nor"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
):
    found = TrainingSettings(interpreters={}, isolation="root")
    monkeypatch.setattr(training_options, "settings", lambda _images: found)
    with pytest.raises(CannotRehearse, match=message):
        rehearse(SUBJECT, Options(timeout_s=60.0, **options), report=refuse)


@pytest.mark.parametrize(("run_s", "grace_s"), [(2.0, 1.0), (100.0, 10.0), (5000.0, 120.0)])
def test_the_grace_period_is_a_tenth_of_the_run_time_within_limits(run_s: float, grace_s: float):
    assert module._stop_grace_s(replace(BASELINE, run_s=run_s)) == grace_s
