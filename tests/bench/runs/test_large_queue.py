"""A large queue: what it uses is counted by place, in calls, and in dollars."""

from __future__ import annotations

import pytest

from bench.metering.prices import PRICES
from bench.runs import large_queue
from bench.runs.large_queue import Figures, lines, measure


@pytest.fixture(scope="module")
def figures() -> Figures:
    return measure(running=24, waiting=40, boards=12, minutes=1)


def test_units_are_counted_by_partition_and_held_against_its_limit(figures: Figures) -> None:
    units = figures["units a second"]
    assert {"ledger", "line", "job"} <= units.keys()
    writes, reads = units["ledger"]
    assert figures["of the limit"]["ledger"] == pytest.approx(max(writes / 1000, reads / 3000), abs=1e-3)
    assert "job" not in figures["of the limit"], "each job is a partition of its own"


def test_each_function_runs_and_each_board_reads(figures: Figures) -> None:
    calls = figures["calls a minute"]
    # A picture every ten seconds and a forecast a minute for each board, and a submission.
    assert calls["api: Lambda requests"] == 12 * 7 + 1
    for function in ("reconcile", "patrol", "watch"):
        assert calls[f"{function}: Lambda requests"] == 1
    assert calls["observe: Lambda requests"] >= 1
    assert calls["schedule: SageMaker calls"] >= 1, "the next job is launched for the one that ended"


def test_the_bill_has_the_alarms_on_running_jobs(figures: Figures) -> None:
    assert figures["alarms on running jobs"] == 24
    # With those of the stack.
    assert figures["dollars a month"]["CloudWatch alarms"] > PRICES["CloudWatch alarms"].of(24)
    assert figures["dollars a month in all"] == pytest.approx(sum(figures["dollars a month"].values()), abs=1)


def test_the_figures_are_told(figures: Figures) -> None:
    told = lines(figures)
    assert told.startswith("24 running, 40 waiting, 12 boards, 1 minutes:")
    assert "queues of teams, eleven together" in told
    assert "dollars a month" in told


def test_a_submission_that_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_queue.LargeQueue, "_request", lambda *_: {"TrainingJobName": "a"})
    with pytest.raises(RuntimeError, match="a submission was answered by"):
        measure(running=1, waiting=1, boards=0, minutes=1)
