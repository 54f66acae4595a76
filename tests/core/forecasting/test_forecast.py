"""Forecasts and what-ifs run the real decisions forward."""

from __future__ import annotations

import pytest

from headway.forecasting.forecast import Cancel, Reprioritize, Resize, Submit, UnknownEdit, forecast, what_if
from headway.model import Allocation, WaitingJob
from tests.core.builders import G5, NOW_MS, P5, held, job, snapshot

HOUR_MS = 3_600_000


def test_a_job_that_fits_is_expected_now() -> None:
    assert forecast(snapshot(job("a", limit_s=60))).starts == {"a": NOW_MS}


def test_a_job_is_expected_when_the_limits_of_what_runs_make_room() -> None:
    expected = forecast(snapshot(held("x", 9, ends_in_s=3600), job("a", limit_s=3600), job("b", entered=1), size=1))
    assert expected.starts == {"a": NOW_MS + HOUR_MS, "b": NOW_MS + 2 * HOUR_MS}
    assert expected.until_ms is None


def test_a_job_that_waits_for_an_endless_one_has_no_expected_start() -> None:
    assert forecast(snapshot(held("x", 9), job("a"), size=1)).starts == {"a": None}


def test_measured_run_times_replace_limits() -> None:
    def history(each: Allocation | WaitingJob) -> int:
        return {"x": 1000, "a": 2000}[each.job if isinstance(each, Allocation) else each.name]

    snap = snapshot(held("x", 9, ends_in_s=3600), job("a", 5), size=1)
    assert forecast(snap, history).starts == {"a": NOW_MS + 1000}


def test_a_preemptor_is_expected_when_its_victim_has_stopped_and_the_victim_after_it() -> None:
    snap = snapshot(held("x", 1, ends_in_s=3600), job("a", 5, limit_s=3600), size=1)
    assert forecast(snap, stop_ms=1000).starts == {"a": NOW_MS + 1000, "x": NOW_MS + 1000 + HOUR_MS}


def test_backfilled_jobs_are_expected_in_their_gaps() -> None:
    snap = snapshot(held("x", 9, ends_in_s=3600), job("head", 9, count=2, limit_s=60), job("b", limit_s=3600), size=2)
    assert forecast(snap).starts == {"head": NOW_MS + HOUR_MS, "b": NOW_MS}


def test_a_forecast_reports_its_horizon() -> None:
    line = [job(f"a{i}", entered=i, limit_s=60) for i in range(5)]
    expected = forecast(snapshot(*line, size=1), steps=2)
    assert list(expected.starts.values()) == [NOW_MS, NOW_MS + 60_000, NOW_MS + 120_000, None, None]
    assert expected.until_ms == NOW_MS + 120_000


def test_what_if_a_job_is_submitted() -> None:
    snap = snapshot(held("x", 1, ends_in_s=3600), job("w", 0, limit_s=60), size=1)
    result = what_if(snap, [Submit(job=job("urgent", 9, limit_s=600))], stop_ms=0)
    assert (result.starts, result.preempts) == ((), ("x",))
    assert result.moved == {
        "urgent": (None, NOW_MS),
        "x": (None, NOW_MS + 600_000),
        "w": (NOW_MS + HOUR_MS, NOW_MS + 600_000 + HOUR_MS + 1_000_000),
    }


def test_what_if_a_priority_is_changed() -> None:
    snap = snapshot(held("x", 9, ends_in_s=60), job("a", 2, limit_s=60), job("b", 1, limit_s=60), size=1)
    result = what_if(snap, [Reprioritize(job="b", priority=3)])
    assert result.moved == {
        "a": (NOW_MS + 60_000, NOW_MS + 120_000),
        "b": (NOW_MS + 120_000, NOW_MS + 60_000),
    }


def test_what_if_a_pool_is_resized_or_a_job_withdrawn() -> None:
    snap = snapshot(held("x", 9, ends_in_s=60), job("a", 2, limit_s=60), job("b", 1, limit_s=60), size=1)
    assert what_if(snap, [Resize(pool=P5, size=3)]).starts == ("a", "b")
    assert what_if(snap, [Cancel(job="a")]).moved == {
        "a": (NOW_MS + 60_000, None),
        "b": (NOW_MS + 120_000, NOW_MS + 60_000),
    }
    assert what_if(snap, [Resize(pool=G5, size=1)]).moved == {}


@pytest.mark.parametrize(
    "change",
    [
        Submit(job=job("a")),
        Submit(job=job("x")),
        Cancel(job="x"),
        Reprioritize(job="nobody", priority=1),
        Resize(pool=P5, size=-1),
    ],
)
def test_a_change_of_an_unknown_job_or_pool_is_refused(change) -> None:
    with pytest.raises(UnknownEdit):
        what_if(snapshot(held("x"), job("a")), [change])
