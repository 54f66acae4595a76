"""What processes use: their own, that of their children, and that of children that have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headway_sandbox.training.container import usage

MB = 2**20
HOLDS = f"held = bytearray(b'x') * {64 * MB}\n"
# A little more than is asked for below: the kernel counts in ticks.
BURNS = "import time\nwhile time.process_time() < 0.4: pass\n"
WAITS = "print('ready', flush=True); sys.stdin.read()\n"


@contextmanager
def root_with(script: str) -> Iterator[int]:
    """Return a process whose only child runs a script, when that has printed a line."""
    parent = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', sys.argv[1]]).returncode)"
    command = [sys.executable, "-c", parent, f"import os, subprocess, sys\n{script}{WAITS}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        assert process.stdin is not None
        process.stdin.close()


def test_memory_and_processor_time_of_a_child_count():
    with root_with(HOLDS + BURNS) as root:
        found = usage.measure(root)
    assert 64 * MB < found.memory_bytes < 128 * MB
    assert 0.35 <= found.cpu_s < 10


def test_processor_time_of_a_child_that_has_ended_counts():
    with root_with(f"subprocess.run([sys.executable, '-c', {BURNS!r}])\n") as root:
        assert usage.measure(root).cpu_s >= 0.35


def test_memory_that_processes_share_counts_once():
    with root_with(f"{HOLDS}for _ in range(3):\n    if os.fork() == 0: sys.stdin.read(); os._exit(0)\n") as root:
        assert 64 * MB < usage.measure(root).memory_bytes < 128 * MB


def test_the_process_itself_and_others_do_not_count():
    with root_with(HOLDS), root_with("") as root:
        assert usage.measure(root).memory_bytes < 64 * MB


def test_a_process_that_has_ended_uses_nothing():
    with root_with("") as root:
        pass
    found = usage.measure(root)
    assert (found.cpu_s, found.memory_bytes) == (0, 0)


@pytest.mark.parametrize("name", [b"python3", b"two words", b") 1 (", b"S 7 8 ("])
def test_the_name_of_a_program_does_not_disturb_its_figures(name: bytes):
    rest = b"S 7 1 1 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 100"
    found = usage._process(9, b"9 (" + name + b") " + rest)
    assert (found.number, found.parent, found.cpu_ticks) == (9, 7, 100)


def test_this_machine_has_the_file_that_it_is_read_from():
    assert usage._memory_of(os.getpid()) > 0
