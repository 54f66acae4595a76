"""The verdicts of ``make sim`` can be positive or negative."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway_sandbox.simulator import checks
from headway_sandbox.simulator.limits import EQUAL, GUESSED, HALF, ROUNDED
from headway_sandbox.simulator.metrics import Result
from tests.sandbox.simulator.test_simulator import BLOCKED, play, trace


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return play(trace(tmp_path, *BLOCKED), "headway")


@pytest.mark.parametrize(("off", "holds"), [(1.0, True), (0.992, True), (1.02, False), (0.98, False)])
def test_figures_agree_within_a_hundredth(result: Result, off: float, holds: bool) -> None:
    verdict, sentence = checks._agrees(result, result.jct.avg_s / off)
    assert verdict is holds
    assert f"({off - 1:+.3%})" in sentence


@pytest.mark.parametrize(
    ("longer", "unfinished", "holds"), [(1.0, 0, True), (0.5, 0, True), (1.002, 0, False), (1.0, 1, False)]
)
def test_the_queue_may_not_be_slower_than_easy_nor_leave_jobs(
    result: Result, longer: float, unfinished: int, holds: bool
) -> None:
    jct = replace(result.jct, avg_s=result.jct.avg_s * longer)
    assert checks._compares(replace(result, jct=jct, unfinished=unfinished), result, 2.0)[0] is holds


@pytest.mark.parametrize(
    ("high_s", "low_s", "alone_s", "holds"),
    [(9.0, 100.0, 1.0, True), (11.0, 100.0, 1.0, False), (50.0, 100.0, 49.0, False)],
)
def test_jobs_of_higher_priority_wait_less_than_a_tenth_and_their_wait_is_reported(
    result: Result, high_s: float, low_s: float, alone_s: float, holds: bool
) -> None:
    ours = replace(result, wait_by_priority_s={"1": high_s, "0": low_s})
    alone = replace(result, wait=replace(result.wait, avg_s=alone_s))
    (verdict, sentence), (all_end, _) = checks._orders(ours, alone)
    assert (verdict, all_end) == (holds, True)
    assert f"jobs of priority 1 alone would wait {alone_s:.0f} s" in sentence


@pytest.mark.parametrize(
    ("trace", "limits", "off", "unfinished", "holds"),
    [
        ("1", ROUNDED, 1.099, 0, True),
        ("1", ROUNDED, 1.101, 0, False),
        ("1", GUESSED, 1.199, 0, True),
        ("1", GUESSED, 1.201, 0, False),
        ("2", GUESSED, 1.249, 0, True),
        ("2", GUESSED, 1.251, 0, False),
        ("1", ROUNDED, 1.05, 1, False),
    ],
)
def test_an_order_by_what_is_left_is_near_an_oracle(
    result: Result, trace: str, limits: str, off: float, unfinished: int, holds: bool
) -> None:
    ours = replace(result, trace=f"muri-trace{trace}.csv.gz", limit_factor=limits, unfinished=unfinished)
    verdict, sentence = checks._nears(ours, ours.jct.avg_s / off)
    assert verdict is holds
    assert f"({off - 1:+.1%})" in sentence


@pytest.mark.parametrize(
    ("trace", "limits", "part", "unfinished", "holds"),
    [
        ("1", EQUAL, 0.599, 0, True),
        ("1", EQUAL, 0.601, 0, False),
        ("2", EQUAL, 0.749, 0, True),
        ("2", EQUAL, 0.751, 0, False),
        ("1", HALF, 0.8, 0, True),
        ("1", HALF, 0.5, 1, False),
    ],
)
def test_sharing_takes_at_most_a_part_of_a_published_time_where_limits_say_nothing(
    result: Result, trace: str, limits: str, part: float, unfinished: int, holds: bool
) -> None:
    ours = replace(result, trace=f"muri-trace{trace}.csv.gz", limit_factor=limits, unfinished=unfinished)
    verdict, sentence = checks._shares(ours, ours.jct.avg_s / part)
    assert verdict is holds
    assert f"({part:.1%})" in sentence


def test_published_times_are_read_by_trace_and_policy(tmp_path: Path) -> None:
    lines = ["trace,policy,avg_jct_s", "trace1,SRTF,1.5", "trace1,Tiresias-L,2.5", "trace2,Tiresias-L,3.5"]
    (tmp_path / "published-muri.csv").write_text("\n".join(lines))
    assert checks._published_s(tmp_path, "muri-trace2", "Tiresias-L") == 3.5


def test_jobs_that_never_end_are_reported(result: Result) -> None:
    (_, _), (all_end, sentence) = checks._orders(replace(result, unfinished=2), result)
    assert not all_end
    assert f"{result.jobs} of {result.jobs + 2} jobs end" in sentence


@pytest.mark.parametrize(
    ("longer", "release_s", "starts", "unfinished", "holds"),
    [
        (0.99, 0.0, 1, 0, True),
        (1.009, 0.0, 1, 0, True),
        (1.011, 0.0, 1, 0, False),
        (1.019, 120.0, 1, 0, True),
        (1.021, 120.0, 1, 0, False),
        (1.0, 0.0, 0, 0, False),
        (1.0, 0.0, 1, 1, False),
    ],
)
def test_warm_pools_cost_the_average_job_at_most_a_hundredth_and_two_where_a_release_takes_time(
    result: Result, longer: float, release_s: float, starts: int, unfinished: int, *, holds: bool
) -> None:
    jct = replace(result.jct, avg_s=result.jct.avg_s * longer)
    pools = replace(result, keep_s=600.0, release_s=release_s, warm_starts=starts, warm_idle_instance_h=7.4)
    warm = replace(pools, jct=jct, unfinished=unfinished)
    verdict, sentence = checks._saves(warm, result)
    assert verdict is holds
    assert "idle for 7 instance hours" in sentence
