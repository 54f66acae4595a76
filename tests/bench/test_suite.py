"""All measurements in one run: each runs, a failure stops no other one, and old figures do not count as new ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench import suite
from bench.metering import noise
from bench.metering.machine import cpu_model, machine, versions
from bench.report import page
from bench.suite import PARTS, Part

FIGURES: dict[str, Any] = {"figures": {"one": 1}}
GOOD, BAD, GONE = (Part(name=name, module=f"bench.{name}", full=("--runs", "3")) for name in ("good", "bad", "gone"))


class Runner:
    """Runs nothing, and leaves the given files."""

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
    assert "FAILED after 0 s: exit code 3" in told
    assert "    what bad printed" in told
    assert "    what good printed" not in told


def test_the_suite_ends_with_a_table_of_all_parts_and_says_where_figures_are(tmp_path, capsys):
    run = Runner({"bad": 3, "gone": 2}, {"gone": {"skipped": "no root"}})
    suite.measure([BAD, GOOD, GONE], tmp_path, quick=False, run=run)
    *_, head, bad, good, gone, _all, _gap, figures, logs = capsys.readouterr().out.splitlines()
    assert head.split() == ["part", "seconds"]
    assert bad.split(maxsplit=2)[::2] == ["bad", "FAILED   exit code 3: what bad printed"]
    assert good.split(maxsplit=2)[::2] == ["good", "passed"]
    assert gone.split(maxsplit=2)[::2] == ["gone", "skipped  no root"]
    assert str(tmp_path / "*.json") in figures
    assert str(tmp_path / "logs" / "*.log") in logs


def test_why_a_part_failed_is_its_own_last_line(tmp_path, capsys):
    def run(_command: Sequence[str], _timeout_s: float, log: Path) -> int:
        log.write_text("SlurmMissing: no munge\n\nleft behind, gets SIGTERM: slurmd (12)\n", encoding="utf-8")
        return 1

    suite.measure([BAD], tmp_path, quick=False, run=run)
    assert "FAILED after 0 s: exit code 1: SlurmMissing: no munge\n" in capsys.readouterr().out


class BrokenOff(Runner):
    """The second part is broken off."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__({}, {"good": FIGURES})
        self._reason = reason

    def __call__(self, command: Sequence[str], timeout_s: float, log: Path) -> int:
        if log.stem == "bad":
            Path(command[-1]).write_text("half of its fig", encoding="utf-8")
            raise self._reason
        return super().__call__(command, timeout_s, log)


@pytest.mark.parametrize("had_figures", [True, False])
def test_a_part_that_is_broken_off_leaves_what_was_there_before(tmp_path, capsys, had_figures):
    if had_figures:
        (tmp_path / "bad.json").write_text(json.dumps(FIGURES))
    with pytest.raises(KeyboardInterrupt):
        suite.measure([GOOD, BAD, GONE], tmp_path, quick=False, run=BrokenOff(KeyboardInterrupt()))
    assert (tmp_path / "bad.json").exists() is had_figures
    assert not had_figures or read(tmp_path, "bad") == FIGURES
    assert read(tmp_path, "good")["run"]["exitCode"] == 0
    assert not (tmp_path / "machine.json").exists()
    told = capsys.readouterr().out
    assert [line.split(maxsplit=1)[1] for line in told.splitlines() if line.endswith("not done")] == ["not done"] * 2


@pytest.mark.parametrize(("reason", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_a_suite_that_is_broken_off_says_so_and_writes_no_page(tmp_path, monkeypatch, capsys, reason, code):
    def measure(*_: Any, **__: Any) -> list[str]:
        raise reason

    monkeypatch.setattr(suite, "measure", measure)
    monkeypatch.setattr(page, "write", lambda _: pytest.fail("a page was written"))
    assert suite.main(["--results", str(tmp_path)]) == code
    assert "docs/explanation/performance.md is as it was" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--only", "nonsense"], ["--only"], ["kueue"], ["--only", "kueue", "nonsense"]])
def test_a_part_that_is_not_there_is_refused_before_anything_is_measured(monkeypatch, capsys, arguments):
    monkeypatch.setattr(suite, "measure", lambda *_, **__: pytest.fail("something was measured"))
    with pytest.raises(SystemExit) as refused:
        suite.main(arguments)
    assert refused.value.code == 2
    assert "error:" in capsys.readouterr().err


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
    assert "skipped after 0 s: no root" in capsys.readouterr().out
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
    part = Part(name="cost", module="bench.scenarios.cost", takes_path=False)
    (tmp_path / "cost.json").write_text(json.dumps(FIGURES))
    run = Runner({"cost": 1}, {})
    suite.measure([part], tmp_path, quick=False, run=run)
    assert run.commands == [(sys.executable, "-m", "bench.scenarios.cost")]
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
