"""Of a part that is over nothing is left: it has ended by itself, was broken off, or died."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import part_process
from bench.part_process import TOO_LONG, run

DAEMON = "import signal, sys; print(flush=True); signal.pause()"
STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
STARTS_DAEMON = """\
import subprocess, sys, tempfile
daemon = subprocess.Popen(
    [sys.executable, "-c", {daemon!r}, tempfile.mkdtemp()], start_new_session=True, stdout=subprocess.PIPE, env={{}}
)
daemon.stdout.readline()
print("daemon", daemon.pid, flush=True)
daemon.returncode = 0
"""
WAITS = """
import signal
try:
    print("waits", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("cleared up")
    raise
"""
SUITE = """\
import sys
import time
from pathlib import Path
from bench import part_process
part_process.end_by_signals()
part_process.run([sys.executable, "-c", {part!r}], 600, Path({log!r}), folder=Path("."))
"""


def python(script: str, log: Path, timeout_s: float = 60) -> int:
    return run([sys.executable, "-c", script], timeout_s, log, folder=log.parent)


def daemon_in(log: Path) -> int:
    """The process id of the daemon that a part reported."""
    return next(int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("daemon"))


def lives(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_process_says_how_it_ended_and_what_it_printed_is_kept(log):
    assert python("import sys; print('hello'); sys.exit(5)", log) == 5
    assert log.read_text() == "hello\n"


def test_a_process_that_takes_too_long_is_asked_to_stop_what_it_has_started(log):
    assert python(WAITS, log, 3) == TOO_LONG
    assert "cleared up" in log.read_text()


def test_a_process_that_does_not_stop_is_killed(log, monkeypatch):
    monkeypatch.setattr(part_process, "STOPS_WITHIN_S", 0.2)
    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pause()"
    assert python(deaf, log, 1) == TOO_LONG


@pytest.mark.parametrize("daemon", [DAEMON, STUBBORN], ids=["one that ends", "one that does not"])
@pytest.mark.parametrize("ends", ["pass", "import os; os.kill(os.getpid(), 9)"], ids=["done", "dead"])
def test_a_daemon_that_is_left_behind_is_ended_and_told_of(log, monkeypatch, daemon, ends):
    monkeypatch.setattr(part_process, "_ENDS_WITHIN_S", 1.0)
    code = python(STARTS_DAEMON.format(daemon=daemon) + ends, log)
    assert code == (0 if ends == "pass" else -signal.SIGKILL)
    assert not lives(daemon_in(log))
    assert "left behind, gets SIGTERM" in log.read_text()
    assert ("gets SIGKILL" in log.read_text()) is (daemon == STUBBORN)


def test_its_temporary_files_are_gone(log):
    python("import tempfile; print(tempfile.mkdtemp())", log)
    folder = Path(log.read_text().strip())
    assert folder.parent.name.startswith("headway-bench-")
    assert not folder.parent.exists()


@pytest.fixture
def _background() -> Iterator[None]:
    """Ignore signals in this process, as under `nohup` and in a shell's background: child processes inherit that."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_background")
@pytest.mark.parametrize(
    ("number", "ctrl_c"),
    [
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
        # A shell makes background processes ignore Ctrl-C.
        (signal.SIGTERM, signal.SIG_IGN),
    ],
)
def test_a_signal_breaks_the_part_off_and_leaves_nothing(log, number, ctrl_c):
    part = STARTS_DAEMON.format(daemon=DAEMON) + WAITS

    def set_signals() -> None:
        signal.signal(signal.SIGINT, ctrl_c)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    suite = subprocess.Popen(
        [sys.executable, "-c", SUITE.format(part=part, log=str(log))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        preexec_fn=set_signals,  # noqa: PLW1509
    )
    try:
        while suite.poll() is None and not (log.exists() and "waits" in log.read_text()):
            time.sleep(0.05)
        suite.send_signal(number)
        assert suite.wait(60)
    finally:
        # It has ended already, unless this test fails: then it stops its part.
        suite.terminate()
        suite.wait()
    assert "cleared up" in log.read_text()
    assert not lives(daemon_in(log))
