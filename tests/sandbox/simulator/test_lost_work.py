"""``make lost-work`` compares what preemptions lose: with unknown intervals, by work lost, and with waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway_sandbox.simulator import lost_work
from headway_sandbox.simulator.lost_work import LONGER, WAITS_S, Compared, compare, faults
from headway_sandbox.simulator.policies import policy_named, with_checkpoints
from headway_sandbox.simulator.run import Scenario, outcomes_of
from headway_sandbox.simulator.trace import Trace
from tests.sandbox.simulator.test_simulator import trace

HOUR_S = 3600


def contended(tmp_path: Path) -> Trace:
    """Two jobs that fill the pool, and after two thirds of their first interval an important one."""
    return trace(
        tmp_path,
        "0,20000,2,1,,a,,0",
        "100,20000,2,1,,a,,0",
        "3200,600,2,1,,a,,1",
    )


def lost_s(of: Trace, wait_s: int | None) -> tuple[float, float]:
    """The instance-seconds that are lost, and for how long the important job waits."""
    scenario = Scenario(
        trace=of,
        policy=with_checkpoints(policy_named("headway"), HOUR_S, wait_s),
        checkpointing=1.0,
    )
    outcomes = outcomes_of(scenario).values()
    (important,) = (each for each in outcomes if each.job.priority)
    return sum(each.lost_ms for each in outcomes) / 1000, important.waited_ms / 1000


def test_a_wait_for_the_next_checkpoint_loses_less_and_lets_the_important_job_wait(tmp_path: Path) -> None:
    of = contended(tmp_path)
    # Both attempts take 120 s to stop. The one that began at 100 s has lost least; at 3660 s the other one has.
    assert lost_s(of, None) == (2 * (3100 + 120), 120)
    assert lost_s(of, 0) == lost_s(of, None)
    assert lost_s(of, 300) == lost_s(of, None)
    assert lost_s(of, 600) == (2 * (60 + 120), 460 + 120)


def _compared(of: Trace) -> list[Compared]:
    return list(compare("contended", of, "headway", (HOUR_S,)))


def test_all_waits_are_compared(tmp_path: Path) -> None:
    found = _compared(contended(tmp_path))
    assert [each.wait_s for each in found] == [None, *WAITS_S]
    assert [each.lost for each in found] == sorted((each.lost for each in found), reverse=True)
    assert found[4].lost == pytest.approx(360 / (40000 * 2 + 600 * 2), rel=0.05)


def test_what_the_comparison_does_not_show_is_reported(tmp_path: Path) -> None:
    headway = _compared(contended(tmp_path))
    before, last = headway[0], headway[-1]
    # The only important job waits ten minutes instead of two.
    (late,) = faults(headway)
    assert late.endswith("jobs of priority 1 wait 580 s, otherwise 120 s")
    patient = [replace(each, result=before.result) for each in headway]
    assert list(faults(patient)) == []
    (no_less,) = faults([*patient[:-1], replace(patient[-1], lost=before.lost)])
    assert "of all work is lost" in no_less
    unfinished = replace(before.result, unfinished=3)
    (open_end,) = faults([*headway[:-1], replace(last, result=unfinished)])
    assert open_end.endswith("3 jobs do not end")
    waits = {"1": before.important_s * (1 + LONGER)}
    assert list(faults([*headway[:-1], replace(last, result=replace(before.result, wait_by_priority_s=waits))])) == []


def test_the_command_prints_the_figures_and_fails_if_they_are_not_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lost_work, "PLANNED", (("trace", "headway", (HOUR_S,)),))
    assert lost_work.main(["--traces", str(tmp_path / "none")]) == 2
    of = contended(tmp_path)
    monkeypatch.setattr(lost_work, "read_trace", lambda *_, **__: of)
    assert lost_work.main(["--traces", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "waits up to 600 s" in printed
    assert "FAIL" in printed
