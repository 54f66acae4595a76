"""``make predictions`` predicts each job of a trace by those that ended before it started."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.accounting.histogram import RELATIVE_ERROR
from headway.forecasting.simulation import Delays
from headway.prediction.quality import Quality
from headway.prediction.run_times import MIN_RUNS
from headway_sandbox.simulator import predictions
from headway_sandbox.simulator.past_runs import kind_of
from headway_sandbox.simulator.policies import policy_named
from headway_sandbox.simulator.predictions import Run, is_calibrated, quality, runs_in
from headway_sandbox.simulator.run import Scenario, outcomes_of
from headway_sandbox.simulator.trace import TraceJob
from tests.sandbox.simulator.test_simulator import trace, write

HOUR_MS = 3_600_000


def run(started_h: float, hours: float, *, team: str = "a", count: int = 1, took_h: float | None = None) -> Run:
    """A run; ``took_h`` is the time from its start to its end if it was interrupted."""
    started_ms, run_ms = round(started_h * HOUR_MS), round(hours * HOUR_MS)
    job = TraceJob(name="", submit_ms=0, run_ms=run_ms, pool="gpu", count=count, team=team)
    held_ms = run_ms if took_h is None else round(took_h * HOUR_MS)
    return Run(job=job, started_ms=started_ms, ended_ms=started_ms + held_ms)


def test_only_jobs_that_ended_before_a_start_are_known_at_it() -> None:
    past = [run(number / 100, 1) for number in range(MIN_RUNS)]
    last = past[-1].ended_ms / HOUR_MS
    assert quality([*past, run(last - 0.001, 1)]).predicted == 0
    assert quality([*past, run(last, 1)]).predicted == 1


def test_a_job_that_is_like_those_before_is_predicted_well() -> None:
    runs = [run(2 * number, 1) for number in range(20)]
    found = quality(runs)
    assert found.predicted == 20 - MIN_RUNS
    assert found.median_error == pytest.approx(0, abs=RELATIVE_ERROR)
    assert found.coverage == 1


def test_jobs_are_predicted_by_their_team_and_their_instances() -> None:
    runs = [run(20 * number + team, hours, team=f"{team}") for number in range(30) for team, hours in ((0, 1), (1, 9))]
    found = quality(runs)
    assert found.median_error is not None
    assert found.median_error <= RELATIVE_ERROR
    assert kind_of(run(0, 1, count=1).job) != kind_of(run(0, 1, count=2).job)


def test_the_run_time_counts_and_not_the_time_in_which_a_job_was_interrupted() -> None:
    runs = [run(20 * number, 1, took_h=10) for number in range(10)]
    assert quality(runs).coverage == 1


def test_what_is_known_fades_from_month_to_month() -> None:
    old = [run(number, 1) for number in range(6)]
    new = [run(3 * 31 * 24 + 10 * number, 8) for number in range(8)]
    found = quality([*old, *new])
    # The run time has changed. By then the six runs of before count less than one.
    assert found.predicted == 6 - MIN_RUNS + 8
    assert found.median_error is not None
    assert found.median_error <= RELATIVE_ERROR


def test_a_simulation_says_when_jobs_started_first_and_ended(tmp_path: Path) -> None:
    jobs = trace(tmp_path, "0,10000,4,,a,,,0", "2000,5000,4,,a,,,1")
    runs = runs_in(
        outcomes_of(Scenario(trace=jobs, policy=policy_named("headway"), limit_factor=2, delays=Delays(stop_ms=5000)))
    )
    assert [(each.started_ms, each.ended_ms) for each in runs] == [(0, 17_005_000), (2_005_000, 7_005_000)]


@pytest.mark.parametrize(("covered", "good"), [(8, True), (9, False), (7, False)])
def test_intervals_contain_about_as_many_run_times_as_they_are_to(covered: int, good: bool) -> None:
    assert is_calibrated(Quality(covered=covered, errors={0: 10})) is good


def test_without_predictions_nothing_is_calibrated() -> None:
    assert not is_calibrated(Quality())


def test_the_command_prints_how_good_the_predictions_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(predictions, "TRACES", {"t": (4, 0.0)})
    write(tmp_path, *[f"{number * 200},100,1,,a,,,0" for number in range(8)], name="t.csv.gz")
    assert predictions.main(["--traces", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].split() == ["t", "8", "5", "5%", "100.0%"]


def test_the_command_says_that_a_trace_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert predictions.main(["--traces", str(tmp_path)]) == 2
    assert "there is no file" in capsys.readouterr().err
