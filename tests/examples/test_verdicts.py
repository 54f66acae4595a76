"""Each run.py ends with an exit code other than 0 if its jobs do not show what the example is about."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from examples.checkpoints import run as checkpoints
from examples.checkpoints.run import Attempt
from examples.data_parallel import run as data_parallel
from examples.data_parallel.run import Result
from examples.heterogeneous import run as heterogeneous
from examples.ray_data import run as ray_data
from examples.sweep import run as sweep
from headway.lifecycle import JobState
from headway_client import ArrayMember

STOPPED, WHOLE = Attempt(begin=0, last=78, weights=None), Attempt(begin=0, last=300, weights="a")


def member(accuracy: float) -> ArrayMember:
    return ArrayMember(
        index=0,
        name="sweep_0",
        state=JobState.COMPLETED,
        made=True,
        parameters={"learning-rate": "0.1", "hidden": "4"},
        metrics={"accuracy": accuracy},
    )


def resumed_at(step: int) -> Callable[..., Any]:
    return lambda *_: ([STOPPED, Attempt(begin=step, last=300, weights="a")], [WHOLE])


def images_per_s(alone: float, together: float) -> Callable[..., Any]:
    values = {"alone": alone, "with-data-hosts": together, "with-ray": together}
    return lambda _account, name, *_: {"images_per_s": values[name], "waiting": 0.75}


def losses(one: float, two: float, *weights: str) -> Callable[..., Any]:
    return lambda _account, hosts: Result(
        hosts=hosts, loss=(one, two)[hosts - 1], weights=list(weights) if hosts == 2 else ["a"]
    )


@pytest.mark.parametrize(
    ("run", "step", "outcome", "problem"),
    [
        (checkpoints, "preempt", resumed_at(78), None),
        (checkpoints, "preempt", resumed_at(67), "11 steps were lost"),
        # Both with periodic checkpoints only, and with one on SIGTERM.
        (checkpoints, "preempt", resumed_at(70), "with --save-on-sigterm yes: 8 steps were lost, not 0 to 0"),
        (data_parallel, "trained", losses(0.5, 0.50001, "b", "b"), None),
        (data_parallel, "trained", losses(0.5, 0.51, "b", "b"), "the loss of two hosts is 0.51, that of one 0.5"),
        (data_parallel, "trained", losses(0.5, 0.5, "b", "c"), "the hosts have different weights"),
        (data_parallel, "trained", losses(0.5, 0.5, "b"), "1 of 2 hosts have logged their weights"),
        (heterogeneous, "throughput", images_per_s(600, 2400), None),
        (heterogeneous, "throughput", images_per_s(600, 1100), "2 times as fast"),
        (ray_data, "throughput", images_per_s(300, 1100), None),
        (ray_data, "throughput", images_per_s(300, 400), "1.5 times as fast"),
        (sweep, "run", lambda _: [member(accuracy=0.7)], None),
        (sweep, "run", lambda _: [member(accuracy=0.5)], "no job is better than guessing"),
    ],
)
def test_the_exit_code_tells_whether_it_was_shown(
    monkeypatch: pytest.MonkeyPatch, run: Any, step: str, outcome: Callable[..., Any], problem: str | None
):
    monkeypatch.setattr(sys, "argv", ["run", "--role", "r", "--bucket", "b"])
    monkeypatch.setattr(run, step, outcome)
    if problem is None:
        run.main()
        return
    with pytest.raises(SystemExit) as raised:
        run.main()
    assert problem in str(raised.value)
    assert str(raised.value).startswith("✗")
