"""Runs of a script, as facts."""

from __future__ import annotations

from typing import Any

from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.baseline import Baseline

LAST = 100
LOSS = 0.25


def attempt(**facts: Any) -> Attempt:
    """Return an undisturbed run of 20 s, changed by some facts."""
    undisturbed: dict[str, Any] = {
        "step_name": "step", "metric_name": "loss", "started_s": 1.0, "ended_s": 21.0, "first_step": 1,
        "last_step": LAST, "uploaded": 10, "uploads": 10, "first_upload_s": 2.0, "metric": LOSS, "trained": True,
    }  # fmt: skip
    return Attempt(**{**undisturbed, **facts})


def preempted(**facts: Any) -> Attempt:
    """Return a run that was preempted after half of its steps."""
    return attempt(**{"trained": False, "preempted_s": 10.0, "last_step": 50, "uploaded": 5, **facts})


def continued(**facts: Any) -> Attempt:
    """Return a run that continued one which was preempted."""
    return attempt(**{"restored": 5, "first_step": 46, **facts})


BASELINE = Baseline.of([attempt(), attempt()])
