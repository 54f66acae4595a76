"""Runs a part in a separate process, of which nothing is left at its end, also if it is interrupted or crashes.

Some parts start what outlives them unless they stop it: a sandbox, or Slurm's daemons, which leave the process's group
and its session. All of it works in folders that the part has made, and names them on its command lines. So a part gets
a separate temporary folder, by which leftover processes are found.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

TOO_LONG = 124
"""The exit code of an interrupted part, as of `timeout`."""
STOPS_WITHIN_S = 60.0
"""The time in which a part has to stop its processes."""
LEFT = "left behind"
"""The prefix of a log line about a process that the part has not stopped."""
_ENDS_WITHIN_S, _LOOK_S = 10.0, 0.1
_PROC = Path("/proc")


def run(command: Sequence[str], timeout_s: float, log: Path, *, folder: Path) -> int:
    """Run a command, and wait for it; see :mod:`bench.part_process`.

    An interruption of the wait, such as Ctrl-C, interrupts the command too, and is raised again when nothing of it is
    left.

    Args:
        command: the command.
        timeout_s: for how long at most.
        log: the file of its output.
        folder: in which it is run.

    Returns:
        Its exit code, or :data:`TOO_LONG`; negative if it was ended by a signal.
    """
    with (
        log.open("wb") as output,
        tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as own,
    ):
        running = subprocess.Popen(  # noqa: S603  the commands of bench.suite
            command, cwd=folder, env={**os.environ, "TMPDIR": own},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            # A Ctrl-C in the terminal reaches it only through this process, so once, and does not reach its children.
            process_group=0,
        )  # fmt: skip
        try:
            return running.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return TOO_LONG
        finally:
            try:
                _stop(running)
            finally:
                _end_whoever_is_left(own, output)


def end_by_signals() -> None:
    """Make SIGTERM and SIGHUP raise an exception in this process, as Ctrl-C does, so that it stops its children.

    Not if they are ignored, as with `nohup`.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    # Without a terminal Ctrl-C is ignored, and processes would inherit that, and not a function that ignores it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, _ignore)


def _stop(running: subprocess.Popen[bytes]) -> None:
    """Ask it to stop, as Ctrl-C does; kill it if it takes too long, or if this is broken off as well."""
    if running.poll() is not None:
        return
    print(f"broken off; it has {STOPS_WITHIN_S:.0f} s to stop what it has started ", end="", flush=True)
    running.send_signal(signal.SIGINT)
    try:
        running.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if running.poll() is None:
            running.kill()
            running.wait()


def _end_whoever_is_left(folder: str, output: IO[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline_s = time.monotonic() + _ENDS_WITHIN_S
        asked: set[int] = set()
        # Again and again: one that ends may have started another one.
        while left := dict(_at_work_in(folder)):
            for pid in left.keys() - asked:
                output.write(f"{LEFT}, gets {number.name}: {left[pid]} ({pid})\n".encode())
                _send(pid, number)
            asked |= left.keys()
            if time.monotonic() > deadline_s:
                break
            time.sleep(_LOOK_S)


def _at_work_in(folder: str) -> Iterator[tuple[int, str]]:
    """Processes whose command line or environment names the folder: id and name. Ended ones have neither."""
    words = os.fsencode(folder)
    for process in _PROC.glob("[0-9]*"):
        try:
            if any(words in (process / file).read_bytes() for file in ("cmdline", "environ")):
                yield int(process.name), (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue  # it has ended since, or belongs to another user


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it has ended by itself


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _ignore(_number: int, _frame: object) -> None:
    pass
