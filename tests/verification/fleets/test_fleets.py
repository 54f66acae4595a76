"""The fleets of `make fleets`, in small: each run of the reconciler does all that it is there for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway_service.tracking import attempt_checks
from headway_verification.fleets.__main__ import HEADERS, is_done, main, play, row_of
from headway_verification.fleets.deployment import FleetDeployment, Run

DONE = Run(took_s=1.0, calls=1, is_waking=True, has_gauges=True, has_sums=True, timed_out=False, oldest_s=60.0)


def test_each_run_does_all_beside_attempts_that_it_has_no_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # As slow as with 3,000 jobs.
    monkeypatch.setattr("headway_verification.fleets.deployment.TIMEOUT_S", {"reconcile": 17})
    runs = play(60, 0.35, 12, ended=300)
    assert all(map(is_done, runs))
    assert max(run.calls for run in runs) > 1
    # All are asked about in the end.
    assert runs[-1].oldest_s < 600
    assert len(row_of(60, 0.35, runs)) == len(HEADERS)


def test_a_run_without_an_end_is_ended_by_its_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_checks.AttemptChecks, "has_time", lambda _: True)
    deployment = FleetDeployment(2, 30.0)
    deployment.start(2)
    deployment.add_ended(120)
    runs = [deployment.minute() for _ in range(8)]
    assert any(run.timed_out for run in runs)
    # What comes first was done all the same.
    assert all(is_done(replace(run, timed_out=False)) for run in runs)


@pytest.mark.parametrize(
    "missing", [{"is_waking": False}, {"has_gauges": False}, {"has_sums": False}, {"timed_out": True}]
)
def test_a_run_that_leaves_something_out_is_seen(missing: dict[str, bool]) -> None:
    assert is_done(DONE)
    assert not is_done(replace(DONE, **missing))
    assert row_of(1, 0.2, [DONE, replace(DONE, **missing)])[3:7] != row_of(1, 0.2, [DONE, DONE])[3:7]


def test_calls_of_several_threads_take_their_time_beside_each_other() -> None:
    deployment = FleetDeployment(8, 1.0)
    deployment.start(8)
    deployment.add_ended(200)
    runs = [deployment.minute() for _ in range(7)]
    most = max(runs, key=lambda run: run.calls)
    # A page of the list, and 8 descriptions, four at once.
    assert most.calls == 1 + 8
    assert 3.0 <= most.took_s < 4.5


@pytest.mark.parametrize("arguments", [["--jobs", "x"], ["--jobs", "0"], ["--jobs", "300,"], ["--minutes", "0"]])
def test_wrong_numbers_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "must be at least 1" in capsys.readouterr().err
