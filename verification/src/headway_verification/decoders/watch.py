"""Runs batches in processes of their own, whose memory and whose calls' processor time are bounded from outside.

A call in C cannot be interrupted by the process that makes it: a regular expression that backtracks, a decoder that
never returns. So the time of a call is measured, and the process killed, by its parent.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

from headway_verification.decoders.batch import Crash, run_batch
from headway_verification.decoders.decoder import Decoder
from headway_verification.decoders.notes import Notes

MEMORY_BYTES = 1024**3
"""What a batch may need beside what the process has when it begins."""

_LOOK_S = 0.05

_IDLE_FACTOR = 12
"""A call that waits hangs as well: by the clock, and generously, as other processes may have the processor."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

_fork = multiprocessing.get_context("fork")


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchResult:
    """How a batch ended.

    Attributes:
        inputs: how many inputs were decoded.
        refused: those that were refused.
        accepted: those that were accepted.
        crash: a crash, also of the whole process.
        hang: the input of a call that did not return in time.
    """

    inputs: int
    refused: int
    accepted: int
    crash: Crash | None = None
    hang: bytes | None = None


def watched_batch(decoder: Decoder, *, seed: int, count: int, known: Collection[str]) -> BatchResult:
    """Run a batch in a process.

    Args:
        decoder: see :func:`run_batch`.
        seed: see there.
        count: see there.
        known: see there.
    """
    notes = Notes()
    receiver, sender = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_run, args=(decoder, seed, count, known, notes, sender))
    process.start()
    sender.close()
    try:
        in_time = _wait(process.pid or 0, receiver, notes, decoder.cpu_limit_s)
        crash = _received(receiver, process, notes) if in_time else None
        return BatchResult(
            inputs=notes.calls,
            refused=notes.refused,
            accepted=notes.accepted,
            crash=crash,
            hang=None if in_time else notes.newest,
        )
    finally:
        receiver.close()
        process.kill()
        process.join()
        process.close()
        notes.close()


def _run(decoder: Decoder, seed: int, count: int, known: Collection[str], notes: Notes, sender: Connection) -> None:
    """The whole life of a batch's process."""
    # The handlers print their metrics, and what they log of hostile requests is not to be read.
    quiet = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(quiet, output)
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, size + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        sender.send(run_batch(decoder, seed=seed, count=count, known=known, notes=notes))
    except Exception:  # noqa: BLE001 - the parent raises it
        sender.send(traceback.format_exc())
    sender.close()
    # Without the parent's exit handlers, which belong to it.
    os._exit(0)


def _wait(pid: int, receiver: Connection, notes: Notes, cpu_limit_s: float) -> bool:
    """Wait until a process has told its result or has ended; return False when a call of it takes too long."""
    calls, cpu_s, at_s = -1, 0.0, 0.0
    while not receiver.poll(_LOOK_S):
        used_s, now_s = _cpu_s(pid), time.monotonic()
        if notes.calls != calls or not notes.is_calling:
            calls, cpu_s, at_s = notes.calls, used_s, now_s
        elif used_s - cpu_s > cpu_limit_s or now_s - at_s > cpu_limit_s * _IDLE_FACTOR:
            return False
    return True


def _received(receiver: Connection, process: ForkProcess, notes: Notes) -> Crash | None:
    """What a process has told: a crash of its decoder, which may have ended it without a word.

    Raises:
        RuntimeError: the fuzz itself failed.
    """
    try:
        told = receiver.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Crash(place=f"{name} of the process", error=f"the process ended: {name}\n", content=notes.newest)
    if told is not None and not isinstance(told, Crash):
        raise RuntimeError(f"a batch failed outside of its decoder\n{told}")
    return told


def _cpu_s(pid: int) -> float:
    """The processor time of a process; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
