"""The command board."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

import pytest

from headway_client.cli.command import CommonOptions
from headway_client.cli.commands.jobs import board as command
from tests.client.conftest import Outcome


def test_without_textual_it_says_what_to_install(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "textual")
    outcome: Outcome = run("board")
    assert outcome == (2, "", "headway: The board in the terminal needs textual: pip install 'headway[board]'.\n")


def test_another_missing_module_is_not_taken_for_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "headway_client.board.terminal.app")
    with pytest.raises(ModuleNotFoundError, match="terminal"):
        command._show_in_terminal(CommonOptions())


def test_it_has_no_other_output_than_the_screen(run: Any) -> None:
    code, _, said = run("board", "-o", "json")
    assert code == 2
    assert "headway queue" in said


def _without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Let the import of a package fail as if it was not installed."""
    for name in list(sys.modules):
        if name.startswith(("textual", "headway_client.board.terminal")):
            monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def find(name: str, *args: Any, **others: Any) -> Any:
        if name == missing or name.startswith(missing + "."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **others)

    monkeypatch.setattr(builtins, "__import__", find)
    importlib.invalidate_caches()
