"""The page of a job in the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sanitize import strip_control_characters
from headway_client.board.job_page.figures import Figures, LogLine
from headway_client.board.job_page.text import MAX_STEPS, page_sections, sparkline
from headway_client.job_figures.curves import Curve, Curves
from headway_client.models import JobDetails
from headway_client.text import width_of
from tests.client.board.job_page.builders import NOW_S, attempt, details

CURVES = Curves(
    attempt="job1-2", start_s=NOW_S - 1800, period_s=60, hosts=8, of_hosts=9,
    curves=(Curve(name="GPU", percent=(0.0, None, 100.0, 50.0)),),
)  # fmt: skip
LINES = (LogLine(host=1, time_ms=int(NOW_S * 1000), text="epoch 1"),)


def lines(job: JobDetails, figures: Figures | None = None, width: int = 200) -> list[str]:
    sections = page_sections(job, figures, now_s=NOW_S, width=width)
    return [line for each in sections for line in ("", *([each.title] if each.title else []), *each.lines)][1:]


def test_a_page_has_facts_attempts_figures_and_history():
    job = details(
        attempt(1, "05:00:00", "05:30:00", reason={"code": "Preempted", "message": "made room for `urgent`"}),
        attempt(2, "06:00:00"),
        jobState="running", team="vision", limitSeconds=3600, preemptions=1, comment="first try",
        lostSeconds=1800, lostCost=0.5, expectedRun={"seconds": 600, "runs": 5},
        cost=1.5, currency="USD", prices=[{"pool": "ml.p5.48xlarge", "from": "2026-01-01", "perHour": 3}],
        history=[
            {"time": "2026-01-02T05:00:00.000Z", "jobState": "running", "attemptName": None,
             "reason": {"code": "Started", "message": "started"}},
        ],
    )  # fmt: skip
    found = Figures(attempt="job1-2", curves=CURVES, lines=LINES, notes=("A note.",))
    assert lines(job, found, width=80) == [
        "state      running: Waits for 1 ml.p5.48xlarge.",
        "priority   0",
        "needs      1 p5.48xlarge",
        "team       vision",
        "owner      arn:aws:sts::123456789012:assumed-role/researcher/ada",
        "limit      1 h",
        "expected   10 min, by 5 earlier jobs",
        "preempted  1 time",
        "comment    first try",
        "lost       0.50 instance hours, 0.50 USD of the cost",
        "cost       1.50 USD for ended attempts",
        "           ml.p5.48xlarge: 3 USD an hour from 2026-01-01",
        "",
        "ATTEMPTS (UTC)",
        " 1  2 p5.48xlarge  Training  01-02 05:00:00 to 01-02 05:30:00, 30 min",
        "    made room for `urgent`",
        " 2  2 p5.48xlarge  Training  01-02 06:00:00 to now, 30 min",
        "",
        "UTILIZATION",
        "GPU        ▁·█▅  last 50 %, average 50 %",
        "from 01-02 06:00:00 UTC, a value each 1 min, 8 of 9 hosts",
        "",
        "LAST LINES OF THE LOG OF job1-2 (UTC)",
        "01-02 06:30:00 epoch 1",
        "",
        "NOT SHOWN",
        "A note.",
        "",
        "HISTORY (UTC)",
        "01-02 05:00:00  running    started",
    ]


def test_lines_of_several_hosts_have_their_names():
    both = (*LINES, LogLine(host=2, time_ms=int(NOW_S * 1000), text="epoch 1"))
    shown = lines(details(), Figures(lines=both))
    assert [line.partition(" | ")[0][15:] for line in shown if "epoch" in line] == ["algo-1", "algo-2"]


def test_what_is_missing_is_said_or_left_out():
    job = details(attempt(1, None, demand={}), held=True, place=None)
    shown = lines(job)
    assert "state      pending (held): Waits for 1 ml.p5.48xlarge." in shown
    assert " 1  job1-1  Training  not started" in shown
    assert "are read …" in shown
    assert not [line for line in shown if line.startswith(("cost", "comment"))]
    shown = lines(job, Figures(curves=Curves(attempt="a", start_s=0, period_s=60, hosts=1, of_hosts=1, curves=())))
    assert "CloudWatch has no values yet." in shown
    assert "NOT SHOWN" not in shown


def test_the_newest_steps_of_the_history_come_first():
    reason = {"code": "X", "message": "x"}
    history = [
        {"time": f"2026-01-02T05:00:{second:02}.000Z", "jobState": "running", "attemptName": None, "reason": reason}
        for second in range(MAX_STEPS + 1)
    ]
    shown = lines(details(history=history))
    steps = shown[shown.index("HISTORY (UTC)") + 1 :]
    assert [step[12:14] for step in steps] == [f"{second:02}" for second in range(MAX_STEPS, 0, -1)]


@pytest.mark.parametrize(
    ("values", "cells", "line"),
    [
        ((0, 12.5, 100, 480, -1), 10, "▁▂██▁"),
        ((None, 100), 10, "·█"),
        ((0, 100, None, 100, 50), 3, "▅█▅"),
        ((None, None), 1, "·"),
        ((), 5, ""),
        ((50,), 0, ""),
    ],
)
def test_a_curve_is_a_line_of_levels(values: tuple[float | None, ...], cells: int, line: str):
    assert sparkline(values, cells) == line


@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=200), st.integers(1, 80))
def test_a_curve_fits_and_loses_no_end(values: list[float | None], cells: int):
    line = sparkline(values, cells)
    assert len(line) <= cells
    assert bool(line) == bool(values)


@given(st.text(max_size=300), st.integers(40, 200))
def test_no_text_of_others_has_control_characters_or_exceeds_the_width(text: str, width: int):
    reason = {"code": "X", "message": text}
    job = details(attempt(1, "06:00:00", failureReason=text), team=text, comment=text, reason=reason)
    for line in lines(job, Figures(notes=(text,)), width=width):
        assert width_of(line) <= width
        assert strip_control_characters(line) == line
