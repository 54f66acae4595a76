"""Which examples there are, and what happens when one cannot run."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext

import pytest

from examples import __main__ as command
from examples.runner import EXAMPLES, ROOT, Example


def test_every_folder_is_an_example_with_a_script_and_a_page():
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/run.py")}
    assert set(EXAMPLES) == folders
    for name in EXAMPLES:
        assert (ROOT / f"docs/how-to/examples/{name.replace('_', '-')}.md").exists()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The examples that were played; `sweep` fails."""
    names: list[str] = []

    def play(_sandbox: object, name: str) -> int:
        names.append(name)
        return 1 if name == "sweep" else 0

    monkeypatch.setattr(command, "play", play)
    monkeypatch.setattr(command, "sandbox_with_scripts", lambda: nullcontext(None))
    monkeypatch.setattr(command, "EXAMPLES", dict.fromkeys(("checkpoints", "sweep"), Example(scripts=("../.venv",))))
    return names


@pytest.mark.parametrize(("named", "code"), [(["checkpoints"], 0), (["sweep"], 1), ([], 1)])
def test_the_exit_code_says_whether_an_example_failed(
    played: list[str], monkeypatch: pytest.MonkeyPatch, named: list[str], code: int
):
    monkeypatch.setattr(sys, "argv", ["examples", *named])
    assert command.main() == code
    assert played == (named or ["checkpoints", "sweep"])


@pytest.mark.parametrize(("named", "code"), [([], 0), (["far"], 1)])
def test_an_example_without_its_environment_is_skipped_and_is_a_failure_only_if_it_was_named(
    played: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: list[str], code: int
):
    monkeypatch.setattr(
        command, "EXAMPLES", {"checkpoints": Example(scripts=("../.venv",)), "far": Example(user="none")}
    )
    monkeypatch.setattr(sys, "argv", ["examples", *named])
    assert command.main() == code
    assert "far is skipped: its environment is not installed; run `make .envs/" in capsys.readouterr().err
    assert "far" not in played


def test_an_unknown_example_is_refused_with_those_there_are(
    played: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["examples", "checkpoint"])
    with pytest.raises(SystemExit):
        command.main()
    assert "There is no example checkpoint: choose from checkpoints, sweep." in capsys.readouterr().err


def test_make_examples_sets_up_all_environments():
    makefile = (ROOT / "Makefile").read_text()
    rule = re.search(r"^examples: (.+?) ##", makefile, re.MULTILINE)
    optional = re.search(r"^OPTIONAL := (.+)$", makefile, re.MULTILINE)
    assert rule
    assert optional
    made = {*re.findall(r"\.envs/(\w+)/", rule[1]), *optional[1].split()}
    assert {name for example in EXAMPLES.values() for name in example.environments} <= made
