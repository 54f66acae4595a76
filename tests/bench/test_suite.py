"""All measurements in one go: each is run, one that fails stops no other, and nobody takes old figures for new ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench import noise, page, suite
from bench.machine import cpu_model, machine, versions
from bench.suite import PARTS, TOO_LONG, Outcome, Part

FIGURES: dict[str, Any] = {"figures": {"one": 1}}
GOOD, BAD, GONE = (Part(name=name, module=f"bench.{name}", full=("--runs", "3")) for name in ("good", "bad", "gone"))


class Runner:
    """Runs nothing, and leaves what it is told to."""

    def __init__(self, codes: dict[str, int], written: dict[str, dict[str, Any]]) -> None:
        self._codes, self._written = codes, written
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str], timeout_s: float, log: Path) -> int:
        self.commands.append(command)
        name = log.stem
        log.write_text(f"what {name} printed", encoding="utf-8")
        if name in self._written:
            Path(command[-1]).write_text(json.dumps(self._written[name]), encoding="utf-8")
        return self._codes.get(name, 0)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(noise, "TURNS", 10_000)
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")


def read(results: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_a_part_that_fails_stops_no_other_and_its_exit_code_is_kept(tmp_path, capsys):
    run = Runner({"bad": 3}, {"good": FIGURES})
    assert suite.measure([BAD, GOOD], tmp_path, quick=False, run=run) == ["bad"]
    assert len(run.commands) == 2
    assert read(tmp_path, "machine")["exitCodes"] == {"bad": 3, "good": 0}
    assert read(tmp_path, "bad")["run"]["exitCode"] == 3
    assert read(tmp_path, "good")["figures"] == FIGURES["figures"]
    told = capsys.readouterr().out
    assert "FAILED with exit code 3" in told
    assert "what bad printed" in told
    assert "what good printed" not in told


def test_a_part_that_fails_leaves_no_figures_of_an_earlier_run(tmp_path):
    (tmp_path / "gone.json").write_text(json.dumps(FIGURES))
    suite.measure([GONE], tmp_path, quick=False, run=Runner({"gone": 1}, {}))
    assert read(tmp_path, "gone").keys() == {"run"}


def test_a_missed_goal_fails_and_its_figures_stay(tmp_path):
    assert suite.measure([BAD], tmp_path, quick=False, run=Runner({"bad": 1}, {"bad": FIGURES})) == ["bad"]
    assert read(tmp_path, "bad").keys() == {"figures", "run"}


def test_what_cannot_be_measured_here_is_skipped_and_says_why(tmp_path, capsys):
    run = Runner({"good": 2}, {"good": {"skipped": "no root"}})
    assert suite.measure([GOOD], tmp_path, quick=False, run=run) == []
    assert "skipped: no root" in capsys.readouterr().out
    # The same exit code without a reason is a mistake on the command line.
    assert suite.measure([BAD], tmp_path, quick=False, run=Runner({"bad": 2}, {})) == ["bad"]


@pytest.mark.parametrize(("quick", "options"), [(True, ("--quick",)), (False, ("--runs", "3"))])
def test_a_part_gets_its_options_and_the_place_of_its_figures(tmp_path, quick, options):
    run = Runner({}, {})
    suite.measure([GOOD], tmp_path, quick=quick, run=run)
    place = str(tmp_path / "good.json")
    assert run.commands == [(sys.executable, "-m", "bench.good", *options, "--json", place)]
    assert read(tmp_path, "good")["run"]["quick"] is quick


def test_a_part_that_chooses_its_own_place_keeps_its_figures(tmp_path):
    part = Part(name="cost", module="bench.cost", takes_path=False)
    (tmp_path / "cost.json").write_text(json.dumps(FIGURES))
    run = Runner({"cost": 1}, {})
    suite.measure([part], tmp_path, quick=False, run=run)
    assert run.commands == [(sys.executable, "-m", "bench.cost")]
    assert read(tmp_path, "cost") == FIGURES


@pytest.mark.parametrize(("load", "busy"), [(0.3, False), (1.5, False), (1.51, True)])
def test_a_busy_machine_is_told_and_recorded(tmp_path, capsys, monkeypatch, load, busy):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 9.0, 9.0))
    suite.measure([], tmp_path, quick=True, run=Runner({}, {}))
    assert ("THE MACHINE IS BUSY" in capsys.readouterr().out) is busy
    found = read(tmp_path, "machine")
    assert (found["busy"], found["before"]["load"]) == (busy, load)
    assert found["before"].keys() == found["after"].keys()


@pytest.mark.parametrize(("arguments", "written"), [([], 1), (["--quick"], 0)])
def test_only_full_sizes_write_the_page(tmp_path, monkeypatch, arguments, written):
    pages: list[Path] = []
    measured: list[str] = []

    def measure(parts: Sequence[Part], results: Path, *, quick: bool) -> list[str]:
        measured.extend(part.name for part in parts)
        return ["kueue"]

    monkeypatch.setattr(suite, "measure", measure)
    monkeypatch.setattr(page, "write", pages.append)
    assert suite.main([*arguments, "--only", "kueue", "--results", str(tmp_path)]) == 1
    assert measured == ["kueue"]
    assert pages == [tmp_path] * written


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_is_there_and_the_makefile_has_it(part):
    assert find_spec(part.module)
    assert f"\nbench-{part.name}:" in (page.ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_process_says_how_it_ended_and_what_it_printed_is_kept(tmp_path):
    log = tmp_path / "log"
    code = suite.process([sys.executable, "-c", "import sys; print('hello'); sys.exit(5)"], 60, log)
    assert (code, log.read_text()) == (5, "hello\n")


def test_a_process_that_takes_too_long_is_asked_to_stop_what_it_has_started(tmp_path):
    log = tmp_path / "log"
    script = """\
import signal
try:
    signal.alarm(60)
    print("began", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("cleared up")
"""
    assert suite.process([sys.executable, "-c", script], 3, log) == TOO_LONG
    assert "cleared up" in log.read_text()


def test_how_a_part_ended_is_told_in_words():
    assert str(Outcome(code=0, took_s=3.2)) == "done in 3 s"
    assert str(Outcome(code=TOO_LONG, took_s=60)) == "FAILED: broken off after 60 s"
    assert not Outcome(code=2, skipped="no root").failed
    assert Outcome(code=1).failed


def test_noise_is_a_median_between_its_ends():
    loop = noise.noise()["loopMs"]
    assert 0 < loop["from"] <= loop["median"] <= loop["to"]
    assert noise.spread([3.0, 1.0, 2.0]) == {"median": 2.0, "from": 1.0, "to": 3.0}


def test_the_machine_is_described():
    assert cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n") == "Some CPU @ 2 GHz"
    assert cpu_model("processor\t: 0\n") == ""
    assert "headway" in versions(["headway", "no-such-package-as-this"])
    assert "no-such-package-as-this" not in versions(["no-such-package-as-this"])
    found = machine()
    assert found["cores"] > 0
    assert found["memoryGb"] > 0
