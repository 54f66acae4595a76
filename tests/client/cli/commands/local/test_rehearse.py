from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway_client.cli.commands.local import sandbox
from headway_client.install_hint import install_command
from headway_sandbox.rehearsal.rehearse import Options
from tests.client.command_line import Run, Write


class FakeRehearsal:
    """A fake of the parts of `headway_sandbox` that the command uses."""

    class SandboxError(Exception):
        pass

    class CannotRehearse(SandboxError):
        pass

    Options = Options

    def __init__(self) -> None:
        self.subject: Any = None
        self.options: Any = None
        self.error: Exception | None = None
        self.exit_code = 0

    def of_script(self, script: Path, arguments: tuple[str, ...], **options: Any) -> Any:
        return ("script", str(script), arguments, options)

    def of_request(self, request: dict[str, Any], **options: Any) -> Any:
        return ("request", request, options)

    def with_metrics(self, subject: Any, **options: Any) -> Any:
        return (*subject, options)

    def rehearse(self, subject: Any, options: Any, *, report: Any) -> Any:
        self.subject, self.options = subject, options
        report("undisturbed run 1 of 2")
        if self.error is not None:
            raise self.error
        return SimpleNamespace(
            document={"survives": True}, headers=["Preemption", "Verdict"], rows=[["SIGTERM", "survives"]],
            notes=["The script survives all 1 preemptions."], exit_code=self.exit_code,
        )  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRehearsal:
    made = FakeRehearsal()
    monkeypatch.setattr(sandbox, "import_module", lambda _: made)
    return made


def test_a_script_is_rehearsed_and_its_table_printed(run: Run, fake: FakeRehearsal):
    code, out, err = run("rehearse", "train.py")
    assert (code, err) == (0, "headway: undisturbed run 1 of 2\n")
    assert out.splitlines() == [
        *["Preemption  Verdict", "----------  --------", "SIGTERM     survives", ""],
        "The script survives all 1 preemptions.",
    ]
    metrics = {"step_regex": None, "metric": None, "metric_regex": None}
    assert fake.subject == ("script", "train.py", (), {"source_dir": None, "data": {}}, metrics)
    assert fake.options == Options(timeout_s=600)


def test_the_options_and_the_arguments_of_a_script_are_passed_on(run: Run, fake: FakeRehearsal):
    line = (
        "rehearse train.py --preempt-after 20s,50% --times 3 --seed 5 --metric loss --metric-regex l --step-regex s "
        "--tolerance 0.0001 --timeout 1h --stop-grace 2.5 --image *=python --ignore runs/* "
        "--data a=x --data b=y --source-dir src -- -e 3"
    )
    assert run(*line.split())[0] == 0
    data = {"source_dir": Path("src"), "data": {"a": Path("x"), "b": Path("y")}}
    metrics = {"step_regex": "s", "metric": "loss", "metric_regex": "l"}
    assert fake.subject == ("script", "train.py", ("-e", "3"), data, metrics)
    assert fake.options == Options(
        preempt_after="20s,50%",
        times=3,
        seed=5,
        ignored=("runs/*",),
        tolerance=0.0001,
        timeout_s=3600,
        stop_grace_s=2.5,
        images=("*=python",),
    )


def test_a_request_is_read_from_a_file(run: Run, fake: FakeRehearsal, request_file: Write):
    assert run("rehearse", request_file({"TrainingJobName": "x"}))[0] == 0
    assert fake.subject[:3] == ("request", {"TrainingJobName": "x"}, {"data": {}})


@pytest.mark.parametrize("extra", [("--source-dir", "src"), ("--", "--epochs")])
def test_what_is_for_scripts_is_refused_with_a_request(run: Run, fake: FakeRehearsal, request_file: Write, extra: Any):
    code, _, err = run("rehearse", request_file({}), *extra)
    assert (code, fake.subject) == (2, None)
    assert "is a request: arguments and --source-dir are for a script" in err


@pytest.mark.parametrize("exit_code", [0, 1, 2])
def test_the_exit_code_says_whether_it_survives(run: Run, fake: FakeRehearsal, exit_code: int):
    fake.exit_code = exit_code
    assert run("rehearse", "train.py")[0] == exit_code


def test_the_result_is_available_as_json_and_csv(run: Run, fake: FakeRehearsal):
    assert json.loads(run("rehearse", "train.py", "-o", "json")[1]) == {"survives": True}
    assert run("rehearse", "train.py", "-o", "csv")[1].split() == ["Preemption,Verdict", "SIGTERM,survives"]


@pytest.mark.parametrize("kind", [FakeRehearsal.CannotRehearse, FakeRehearsal.SandboxError])
def test_a_script_that_cannot_be_judged_has_an_exit_code_of_its_own(run: Run, fake: FakeRehearsal, kind: type):
    fake.error = kind("Print each step.")
    code, _, err = run("rehearse", "train.py")
    assert (code, err.splitlines()[-1]) == (2, "headway: Print each step.")


def test_a_missing_sandbox_package_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(sandbox, "import_module", missing)
    code, _, err = run("rehearse", "train.py")
    assert code == 2
    assert f"run `{install_command('sandbox')}`" in err


def test_ctrl_c_says_that_nothing_is_left(run: Run, fake: FakeRehearsal):
    fake.error = KeyboardInterrupt()  # type: ignore[assignment]
    code, _, err = run("rehearse", "train.py")
    assert (code, err.splitlines()[-1]) == (130, "headway: interrupted; nothing of the rehearsal is left.")


def test_the_real_package_has_what_the_command_needs():
    assert callable(sandbox.load("rehearsal.rehearse").rehearse)
    for name in ("of_script", "of_request", "with_metrics"):
        assert callable(getattr(sandbox.load("rehearsal.subject"), name))
