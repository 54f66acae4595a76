"""``make gaps`` compares gaps before reserved starts, filled and not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway.model import Snapshot
from headway_sandbox.simulator import gaps
from headway_sandbox.simulator.gaps import NO_LONGER, ORDERS, Compared, FirstStarts, compare, faults
from headway_sandbox.simulator.limits import ROUNDED
from headway_sandbox.simulator.policies import filling, policy_named
from headway_sandbox.simulator.run import Scenario, outcomes_of
from headway_sandbox.simulator.trace import Trace
from tests.sandbox.simulator.test_simulator import trace


def with_gap(tmp_path: Path) -> Trace:
    """A job of three hours on one of four GPUs, one that needs all, and one of four hours that fits at once."""
    return trace(tmp_path, "0,10800,1,1,,a,,0", "60,3600,4,1,,a,,0", "120,14400,3,1,,a,,0")


def ends_s(of: Trace, policy: str) -> list[float]:
    """When each job ends, by submission."""
    outcomes = outcomes_of(Scenario(trace=of, policy=policy_named(policy), checkpointing=1.0)).values()
    found = sorted((each.job.submit_ms, each.ended_ms) for each in outcomes if each.ended_ms is not None)
    return [ended_ms / 1000 for _, ended_ms in found]


def test_a_gap_is_filled_and_the_first_job_starts_as_before(tmp_path: Path) -> None:
    of = with_gap(tmp_path)
    assert ends_s(of, "headway") == [10800, 14400, 28800]
    # It trains for three hours in the gap, but for the notice, and loses less than a checkpoint of ten minutes.
    first, second, third = ends_s(of, filling("headway"))
    assert (first, second) == (10800, 14400)
    kept_s = (10800 - 180 - 120) // 600 * 600
    assert third == 14400 + 14400 - kept_s


class Late(FirstStarts):
    """Tells each first start too early."""

    def _tell(self, snapshot: Snapshot) -> None:
        super()._tell(snapshot)
        self._by_ms = 0


def _compared(tmp_path: Path) -> list[Compared]:
    return list(compare("muri-trace1", with_gap(tmp_path), 20_000.0))


def test_each_order_and_kind_of_limits_is_compared(tmp_path: Path) -> None:
    found = _compared(tmp_path)
    assert len(found) == 2 * 2 * len(ORDERS)
    assert all(each.told and not each.late for each in found)
    assert {each.fills for each in found if each.result.preemptions} == {True}


def test_what_the_comparison_does_not_show_is_reported(tmp_path: Path) -> None:
    found = _compared(tmp_path)
    goal = next(
        each
        for each in found
        if each.fills and each.order == "order-shortest-remaining" and each.result.limit_factor == ROUNDED
    )
    near = [replace(each, oracle_s=each.result.jct.avg_s) for each in found]
    assert list(faults(near)) == []
    (far,) = faults([*near, replace(goal, oracle_s=goal.result.jct.avg_s / 1.06)])
    assert far.endswith("the average JCT is +6.0% off the oracle's, at most +5%")
    (late,) = faults([*near, replace(near[0], late=1)])
    assert "first jobs start later than they were told" in late
    (open_end,) = faults([*near, replace(near[0], result=replace(near[0].result, unfinished=3))])
    assert open_end.endswith("3 jobs do not end")
    longer = replace(goal.result.jct, avg_s=goal.result.jct.avg_s * 2 * (1 + NO_LONGER))
    (worse,) = faults([*near, replace(goal, result=replace(goal.result, jct=longer), oracle_s=10 * longer.avg_s)])
    assert ", otherwise " in worse


def test_a_start_that_is_told_too_early_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "FirstStarts", Late)
    result, told, late = gaps._simulated(
        Scenario(trace=with_gap(tmp_path), policy=policy_named("headway"), checkpointing=1.0)
    )
    assert not result.unfinished
    assert told == late > 0


def test_what_is_told_counts_until_another_job_comes_first(tmp_path: Path) -> None:
    """In the order `short` a job comes that ranks before it: it waits too, or starts at once."""
    for gpus in ("4", "1"):
        of = trace(tmp_path, "0,10800,1,1,,a,,0", "60,36000,4,1,,a,,0", f"120,12000,{gpus},1,,a,,0")
        scenario = Scenario(trace=of, policy=policy_named("order-short"), checkpointing=1.0)
        result, told, late = gaps._simulated(scenario)
        assert (result.unfinished, told, late) == (0, 2 if gpus == "4" else 1, 0)


def test_the_command_prints_the_figures_and_fails_if_they_are_not_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gaps.main(["--traces", str(tmp_path / "none")]) == 2
    of = with_gap(tmp_path)
    monkeypatch.setattr(gaps, "read_trace", lambda *_, **__: of)
    monkeypatch.setattr(gaps, "oracle_jct_s", lambda *_: 1.0)
    assert gaps.main(["--traces", str(tmp_path), "--only", "muri-trace2"]) == 1
    printed = capsys.readouterr().out
    assert "order-shortest-remaining" in printed
    assert "FAIL muri-trace2, order-shortest-remaining, limits rounded" in printed
