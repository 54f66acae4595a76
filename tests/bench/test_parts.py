"""What a part writes is what the page reads, and why something could not be measured is written too."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.peers.kueue_jobs import submissions
from bench.peers.side import Sizes
from bench.peers.slurm import Slurm, SlurmMissing
from bench.queues.timed_training_jobs import BrokenPromiseError
from bench.report.performance_tables import tables_of
from bench.runs.kueue_replay import Replay
from bench.scenarios import board, cli_help, decision, kueue, reaction, slurm, training
from headway_sandbox.training.container.isolation import CannotIsolate


def written(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def call(monkeypatch: pytest.MonkeyPatch, module: Any, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    code: int = module.main()
    return code


def test_each_replay_of_kueues_test_is_written(monkeypatch, tmp_path):
    few = submissions(10)[:3]
    monkeypatch.setattr(kueue, "submissions", lambda _share: few)
    path = tmp_path / "kueue.json"
    assert call(monkeypatch, kueue, "--quick", "--runs", "2", "--json", str(path)) == 0
    found = written(path)
    assert [each["completed"] for policy in ("runs", "protected") for each in found[policy]] == [3, 3, 3, 3]
    assert found["problems"] == []
    assert (
        "| 3 jobs, 2 runs | Headway | no preemption in the first second | Kueue |"
        in tables_of({"kueue": found}, {})["kueue"]
    )


def test_a_broken_promise_is_written_and_fails(monkeypatch, tmp_path):
    class Broken(Replay):
        def run(self) -> None:
            raise BrokenPromiseError("an instance was given out twice")

    monkeypatch.setattr(kueue, "Replay", Broken)
    path = tmp_path / "kueue.json"
    assert call(monkeypatch, kueue, "--quick", "--json", str(path)) == 1
    assert written(path)["problems"] == ["an instance was given out twice"] * 2


def test_decisions_are_written_with_their_spread(monkeypatch, tmp_path):
    name = "one pool"
    monkeypatch.setattr(decision, "RUNNING", 8)
    monkeypatch.setattr(decision, "WAITING", (5, 50, 500))
    monkeypatch.setattr(decision, "SCENES", {name: decision.SCENES[name]})
    path = tmp_path / "schedule.json"
    call(monkeypatch, decision, "--quick", "--json", str(path))
    found = written(path)
    assert found["ms"][name].keys() == {"5", "50"}
    assert all(0 < each["from"] <= each["median"] <= each["to"] for each in found["ms"][name].values())
    assert "| ms, 3 runs | 5 waiting | 50 waiting |" in tables_of({"schedule": found}, {})["one decision"]


def test_each_start_of_the_command_line_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(cli_help, "seconds", lambda _command: 0.25)
    path = tmp_path / "help.json"
    assert cli_help.main(["--runs", "3", "--json", str(path)]) == 0
    found = written(path)
    assert found["ms"] == {"python -c pass": [250.0] * 3, "headway --help": [250.0] * 3}
    assert "| `headway --help` | 250 |" in tables_of({"help": found}, {})["help"]


def test_what_a_board_costs_is_written_and_missed_goals_fail(monkeypatch, tmp_path):
    for name, value in {"WAITING": 30, "RUNNING": 4, "ROUNDS": 2, "GOAL_FIRST_MS": 1e6, "GOAL_REFRESH_MS": 1e6}.items():
        monkeypatch.setattr(board, name, value)
    path = tmp_path / "board.json"
    assert board.main(["--json", str(path)]) == 0
    found = written(path)
    assert (found["waiting"], found["running"]) == (30, 4)
    assert all(len(times) == 2 for times in found["ms"].values())
    assert "30 waiting jobs" in tables_of({"board": found}, {})["board"]
    for goal in ("GOAL_FIRST_MS", "GOAL_REFRESH_MS"):
        with monkeypatch.context() as missed:
            missed.setattr(board, goal, -1.0)
            assert board.main([]) == 1


@pytest.mark.parametrize(
    ("options", "places"), [(["--quick"], set()), ([], {"own"}), (["--quick", "--json"], {"asked"})]
)
def test_a_quick_look_at_reactions_is_written_only_where_somebody_asks_for_it(monkeypatch, tmp_path, options, places):
    figures = {"figures": {"warm": [], "cold": {}, "sizes": {}}, "machine": "m", "runs": {}}
    monkeypatch.setattr(reaction, "measured", lambda *, quick: figures)
    monkeypatch.setattr(reaction, "RESULT", tmp_path / "own")
    assert reaction.main([*options, *([str(tmp_path / "asked")] if "--json" in options else [])]) == 0
    assert {path.name for path in tmp_path.iterdir()} == places


def test_without_root_slurm_is_not_started_and_the_reason_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SlurmMissing), Slurm(1, grace_s=1):
        pass
    path = tmp_path / "slurm.json"
    assert slurm.main(["--json", str(path)]) == 2
    assert "root" in tables_of({"slurm": written(path)}, {})["slurm"]


def test_of_a_set_up_that_fails_only_the_first_line_is_written(monkeypatch, tmp_path):
    def missing(*_: Any) -> dict[str, Any]:
        raise SlurmMissing("setup.sh start ended with 3:\n/home/somebody: what apt said")

    monkeypatch.setattr(slurm, "measured", missing)
    path = tmp_path / "slurm.json"
    assert slurm.main(["--json", str(path)]) == 2
    assert written(path)["skipped"] == "setup.sh start ended with 3"


def test_more_nodes_and_jobs_of_slurm_can_be_asked_for(monkeypatch):
    asked: list[Sizes] = []

    def measured(sizes: Sizes, _parameters: str) -> dict[str, Any]:
        asked.append(sizes)
        raise SlurmMissing("enough")

    monkeypatch.setattr(slurm, "measured", measured)
    slurm.main(["--quick", "--nodes", "9", "--jobs", "7", "--runs", "5"])
    slurm.main(["--quick"])
    (more, usual) = asked
    assert (more.nodes, more.jobs, more.drained, more.runs) == (9, 7, 7, 5)
    assert usual == slurm.QUICK


@pytest.mark.parametrize(("lost", "code"), [(5, 0), (6, 1)])
def test_a_preemption_that_loses_more_than_the_steps_since_a_checkpoint_fails(monkeypatch, tmp_path, lost, code):
    hosts = {"1": {"alone": [1.0], "container": [1.2], "job": [2.0], "mbPerHost": 50.0}}
    preempted = [{"every": 5, "handlesSigterm": False, "steps": [lost], "seconds": [0.1]}]
    figures = {"runs": 1, "hosts": hosts, "lost": preempted}
    monkeypatch.setattr(training, "measure", lambda **_sizes: figures)
    path = tmp_path / "training.json"
    assert training.main(["--json", str(path)]) == code
    assert f"| each 5 steps | {lost} | 0.1 |" in tables_of({"training": written(path)}, {})["training"]


def test_scripts_that_cannot_be_isolated_are_not_measured_and_the_page_says_why(monkeypatch, tmp_path):
    def refuse(**_sizes: int) -> None:
        raise CannotIsolate("--train cannot isolate scripts on this machine")

    monkeypatch.setattr(training, "measure", refuse)
    path = tmp_path / "training.json"
    assert training.main(["--json", str(path)]) == 2
    assert tables_of({"training": written(path)}, {})["training"] == (
        "Skipped: --train cannot isolate scripts on this machine."
    )


def test_the_steps_that_a_script_did_again_are_found_in_what_both_jobs_have_printed(monkeypatch):
    class Printed(training.Jobs):
        def __init__(self) -> None:
            self.sandbox = cast(Any, SimpleNamespace(finish=lambda _name: None))
            self.logs = iter(
                [
                    ["begins at 0 0.0", "step 1 0.5", "step 2 1.0", "step 3 1.75", "step"],
                    ["begins at 1 0.0", "step 2 0.5"],
                ]
            )

        def start(self, *_: object, **__: object) -> str:
            return "job"

        def preempt(self, *_: object) -> None:
            pass

        def wait_for_line(self, *_: object, **__: object) -> None:
            pass

        def log(self, _name: str) -> list[str]:
            return next(self.logs)

    found = training.work_lost(Printed(), every=10, handles_sigterm=False, runs=1)
    assert found == {"steps": [2], "seconds": [1.25]}
