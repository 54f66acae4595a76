"""Launches a second, and ends within a minute: all are launched, and what is lost or missed is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.report.goals import goals_of
from bench.report.performance_tables import tables_of
from bench.scenarios import launches
from bench.scenarios.launches import ends_of, goals, lost, measure, missed, starts_of
from headway_service.launching.backoff import FIRST_BACK_OFF_S


@pytest.mark.parametrize("at_once", [1, 8])
def test_all_that_end_within_a_minute_are_followed_and_no_promise_is_broken(at_once: int) -> None:
    figures = ends_of(4, 60, at_once, None)
    assert figures["ended"] == figures["launched"] == figures["calls"] == 4
    assert figures["lost"] == 0
    assert 1 <= figures["passes"] <= 4
    assert figures["ledgerUnitsASecond"]["written"] > 0


def test_ends_that_come_while_a_pass_runs_share_the_next_one() -> None:
    figures = ends_of(6, 0.5, 1, None)
    assert figures["launched"] == 6
    assert figures["passes"] < 6
    assert figures["oldestWakeSeconds"] > 0


def test_launches_in_flight_wait_for_sagemaker_at_the_same_time() -> None:
    one, several = (ends_of(8, 0, at_once, None)["secondsUntilAllLaunched"] for at_once in (1, 8))
    assert one > 8 * 0.2
    assert several < 4 * 0.2


def test_throttled_launches_are_called_again_one_at_a_time_without_a_back_off() -> None:
    figures = ends_of(12, 0, 8, 5)
    assert (figures["launched"], figures["lost"]) == (12, 0)
    assert 12 < figures["calls"] <= 12 + 8
    assert 12 / 5 - 1 <= figures["secondsUntilAllLaunched"] < FIRST_BACK_OFF_S / 2


def test_a_tick_in_threads_launches_all_jobs() -> None:
    assert starts_of(3, 2, 5)["launched"] == 3


def found(**changes: Any) -> dict[str, Any]:
    """Figures of a measurement; those with several launches at once are changed."""
    start = {
        "atOnce": 1,
        "transactionMs": 5,
        "jobs": 100,
        "launched": 100,
        "seconds": 22.0,
        "aSecond": 4.5,
        "processorMsEach": 9.0,
    }
    end = {
        "within": 60,
        "aSecond": 4.5,
        "atOnce": 1,
        "allowed": None,
        "ended": 500,
        "launched": 500,
        "lost": 0,
        "calls": 500,
        "passes": 50,
        "secondsUntilLaunched": {"median": 25.0, "p99": 50.0, "max": 51.0},
        "secondsUntilAllLaunched": 111.0,
        "oldestWakeSeconds": 99.0,
        "mostInstancesIdle": 204,
        "ledgerUnitsASecond": {"written": 63.0, "read": 38.0},
    }
    several = {"secondsUntilLaunched": {"median": 0.4, "p99": 0.8, "max": 0.9}, "atOnce": 8}
    return {
        "starts": [start, {**start, "atOnce": 8, "aSecond": 35.0, **changes.get("starts", {})}],
        "ends": [
            end,
            {**end, **several, **changes.get("ends", {})},
            {**end, **several, "allowed": 5, "calls": 507, **changes.get("throttled", {})},
            {**end, **several, "within": 0, "aSecond": 36.0, **changes.get("at once", {})},
        ],
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"starts": {"launched": 99}}, ["99 of 100 were launched"]),
        ({"ends": {"lost": 1}}, ["500 ended, 500 were launched, 1 are not kept"]),
        ({"throttled": {"ended": 499}}, ["499 ended, 500 were launched, 0 are not kept"]),
    ],
    ids=["nothing", "a start", "a job", "an end"],
)
def test_what_was_lost_is_told(changes: dict[str, Any], told: list[str]) -> None:
    assert lost(found(**changes)) == told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"starts": {"aSecond": 29.9}},
            ["starts a second in real time, with transactions of 5 ms: at least 30 (29.9)"],
        ),
        ({"at once": {"aSecond": 29.8}}, ["starts a second after 500 ends at once: at least 30 (29.8)"]),
        (
            {"ends": {"secondsUntilLaunched": {"median": 1.0, "p99": 2.0, "max": 20.1}}},
            ["500 ends within a minute are each followed within 20 s (20.1)"],
        ),
        (
            {"throttled": {"calls": 551}},
            ["calls for each launch after 500 ends within a minute, 5 a second allowed: at most 1.1 (1.102)"],
        ),
    ],
    ids=["starts", "ends at once", "ends within a minute", "calls"],
)
def test_goals_are_those_of_several_launches_at_once_and_missed_ones_are_told(
    changes: dict[str, Any], told: list[str]
) -> None:
    assert len(list(goals(found()))) == 4
    assert missed(found()) == []
    assert missed(found(**changes)) == told
    assert [goal.goal for goal in goals_of({"launches": found(**changes)}) if not goal.kept] == [
        each.rpartition(" (")[0] for each in told
    ]


def test_the_page_has_one_launch_at_a_time_beside_several() -> None:
    told = tables_of({"launches": found()}, {})["launches"]
    assert "| 1 | 5 | 100 | 100 | 22 | 4.5 | 9 |" in told
    figures = "8 | 0.4 | 0.8 | 0.9 | 111"
    assert f"| within a minute | any number | {figures} | 4.5 | 500 | 0 | 50 | 99 | 204 | 63 | 38 |" in told
    assert f"| within a minute | 5 a second | {figures} | 4.5 | 507 | 0 | 50 | 99 | 204 | 63 | 38 |" in told
    assert f"| at once | any number | {figures} | 36 | 500 | 0 | 50 | 99 | 204 | 63 | 38 |" in told


def test_figures_are_written_and_what_is_lost_or_missed_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "launches.json"
    monkeypatch.setattr(launches, "measure", lambda ends, starts: found())
    assert launches.main(["--json", str(path)]) == 0
    assert json.loads(path.read_text())["ends"] == found()["ends"]
    monkeypatch.setattr(launches, "measure", lambda ends, starts: found(starts={"aSecond": 3.0}))
    assert launches.main(["--json", str(path)]) == 1
    assert launches.main(["--quick"]) == 0
    assert "FAILED: starts a second" in capsys.readouterr().out


def test_each_case_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "starts_of", lambda *sizes: {"sizes": sizes})
    monkeypatch.setattr(launches, "ends_of", lambda *sizes: {"sizes": sizes})
    figures = measure(5, 1)
    assert [each["sizes"] for each in figures["starts"]] == [(1, 1, 5), (1, 8, 5), (1, 1, 20), (1, 8, 20)]
    ends = [each["sizes"] for each in figures["ends"]]
    assert ends == [
        *((5, within_s, at_once, allowed) for within_s in (0, 60) for allowed in (None, 5) for at_once in (1, 8))
    ]
