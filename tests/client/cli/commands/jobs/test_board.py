"""The command board."""

from __future__ import annotations

import builtins
import importlib
import re
import socket
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headway_client.board.web.server import BoardServer
from headway_client.cli.command import CommonOptions
from headway_client.cli.commands.jobs import board as command
from headway_client.install_hint import install_command
from tests.client.conftest import Outcome


@pytest.mark.parametrize("missing", ["stdin", "stdout"])
def test_without_a_terminal_it_says_what_shows_the_queue(
    run: Any, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    _on_a_terminal(monkeypatch)
    monkeypatch.setattr(getattr(sys, missing), "isatty", lambda: False)
    code, _, said = run("board")
    assert (code, "`headway queue` prints the queue" in said) == (2, True)


def _on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)


def test_without_textual_it_says_what_to_install(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _on_a_terminal(monkeypatch)
    _without(monkeypatch, "textual")
    outcome: Outcome = run("board")
    assert outcome == (2, "", f"headway: The board in the terminal needs textual: {install_command('board')}.\n")


def test_another_missing_module_is_not_taken_for_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    _on_a_terminal(monkeypatch)
    _without(monkeypatch, "headway_client.board.terminal.app")
    with pytest.raises(ModuleNotFoundError, match="terminal"):
        command._show_in_terminal(CommonOptions())


@pytest.mark.parametrize("option", ["--allow-changes", "--no-browser", "--port=8000"])
def test_options_of_the_browser_need_it(run: Any, option: str) -> None:
    code, _, said = run("board", option)
    assert (code, "need --web" in said) == (2, True)


def test_a_port_that_is_in_use_is_reported(run: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, said = run("board", "--web", "--no-browser", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "can't listen on port" in said


def interrupt(_: BoardServer) -> None:
    raise KeyboardInterrupt


def test_it_prints_its_link_leads_a_browser_to_it_and_ends_with_ctrl_c(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    files: list[Path] = []

    def browse(address: str) -> bool:
        opened.append(address)
        files.append(Path(urlsplit(address).path))
        assert "http://127.0.0.1:" in files[0].read_text()
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setattr(BoardServer, "serve", interrupt)
    code, said, _ = run("board", "--web")
    assert code == 130
    link = re.search(r"http://\S+", said)
    assert link is not None
    token = link[0].partition("#token=")[2]
    assert token
    assert len(opened) == 1
    assert opened[0].startswith("file:///")
    assert token not in opened[0]
    assert not files[0].parent.exists()
    run("board", "--web", "--no-browser")
    assert len(opened) == 1


def test_without_a_browser_it_says_so(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    monkeypatch.setattr(BoardServer, "serve", interrupt)
    assert "No browser was opened: open the link" in run("board", "--web")[1]


def test_without_a_place_for_the_file_with_the_link_it_goes_on(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(BoardServer, "serve", interrupt)
    code, said, _ = run("board", "--web")
    assert (code, "No browser was opened" in said) == (130, True)


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
