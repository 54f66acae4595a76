"""The board in a real terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
TMUX = shutil.which("tmux")
SIZES = [(80, 24), (200, 50)]
PATIENCE_S = 30

# A package of the operating system; the same screens are tested without a terminal in the other files.
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


class Terminal:
    """A terminal of a size, in which the board runs on the fake API.

    Args:
        folder: where tmux keeps its socket.
        size: columns and lines.
    """

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        self._socket = str(folder / "tmux")
        command = shlex.join([sys.executable, "-m", "tests.client.board.terminal.on_fake"])
        columns, lines = size
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)]), "TERM": "xterm-256color"}
        self._tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(ROOT), command, env=environment)

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = [str(TMUX), "-S", self._socket, *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    def screen(self) -> list[str]:
        return self._tmux("capture-pane", "-p").splitlines()

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        for _ in range(PATIENCE_S * 10):
            shown = self.screen()
            if holds(shown):
                return shown
            time.sleep(0.1)
        raise AssertionError("\n".join(self.screen()))

    def close(self) -> None:
        subprocess.run([str(TMUX), "-S", self._socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, request.param)
    yield opened
    opened.close()


@pytest.mark.parametrize(("terminal", "size"), [(size, size) for size in SIZES], indirect=["terminal"], ids=str)
def test_the_board_fits_a_real_terminal(terminal: Terminal, size: tuple[int, int]) -> None:
    columns, lines = size
    shown = terminal.until(lambda screen: "waits-00" in "".join(screen) and "Help" in "".join(screen))
    assert len(shown) <= lines
    assert all(len(line) <= columns for line in shown)
    text = "\n".join(shown)
    for part in ("1 running", "p5.48xlarge", "waiting: 30", "running: 1", "trains", "Why", "Help"):
        assert part in text, text
    terminal.press("?")
    terminal.until(lambda screen: any("this help" in line for line in screen))
    # An escape with a key behind it would be Alt with that key.
    terminal.press("q")
    terminal.until(lambda screen: not any("this help" in line for line in screen))
    terminal.press("x")
    terminal.until(lambda screen: any("Stop waits-00?" in line for line in screen))
    terminal.press("y")
    terminal.until(lambda screen: any("waiting: 29" in line for line in screen))
