"""Ctrl-C while the command line is imported, or right after."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headway_client.cli import entry, interruption
from headway_client.cli.exit_codes import EXIT_INTERRUPTED


class Interrupted(ModuleType):
    """A module whose import is interrupted."""

    def __getattr__(self, name: str) -> Any:
        if name == "main":
            raise KeyboardInterrupt
        raise AttributeError(name)


def interrupted_main() -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [({}, "nothing was sent."), ({"main": interrupted_main}, interruption.DEFAULT)],
)
def test_an_interrupt_has_a_last_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], attributes: dict[str, Any], sentence: str
):
    module = Interrupted("headway_client.cli.main")
    vars(module).update(attributes)
    monkeypatch.setitem(sys.modules, "headway_client.cli.main", module)
    assert entry.main() == EXIT_INTERRUPTED
    assert capsys.readouterr() == ("", f"headway: interrupted; {sentence}\n")


def test_the_program_has_this_entry_point():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["headway"] == f"{entry.__name__}:main"


def test_the_exit_code_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("headway_client.cli.main")
    vars(module)["main"] = lambda: 5
    monkeypatch.setitem(sys.modules, "headway_client.cli.main", module)
    assert entry.main() == 5
