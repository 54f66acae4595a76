"""What the processes of a host use, read from `/proc`.

It works without privileges and without a writable cgroup. A host has a PID namespace of its own, so all that its
command starts, daemons too, are descendants of its first process.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the processes of a host use."""

    at_s: float
    """When it was measured, on the machine's monotonic clock, s."""
    cpu_s: float
    """Processor time since their start, s. That of processes which nobody has waited for is lost when they end."""
    memory_bytes: int
    """Proportional set size (proc_pid_smaps(5)): memory that processes share counts once."""


class _Process(NamedTuple):
    number: int
    parent: int
    cpu_ticks: int


def measure(root: int) -> Usage:
    """Return what the descendants of a process use, without the process itself.

    Args:
        root: The process, which need not exist any more.
    """
    at_s = monotonic()
    found = list(_descendants(root))
    return Usage(
        at_s=at_s,
        cpu_s=sum(each.cpu_ticks for each in found) / _TICKS_PER_S,
        memory_bytes=sum(_memory_of(each.number) for each in found),
    )


def _descendants(root: int) -> Iterator[_Process]:
    children = defaultdict(list)
    for process in _processes():
        children[process.parent].append(process)
    left = children[root]
    while left:
        process = left.pop()
        yield process
        left.extend(children[process.number])


def _processes() -> Iterator[_Process]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended
                yield _process(int(entry.name), (entry / "stat").read_bytes())


def _process(number: int, stat: bytes) -> _Process:
    """Read `/proc/PID/stat` (proc_pid_stat(5)); the program's name in it may have spaces and parentheses."""
    fields = stat.rpartition(b")")[2].split()
    # utime and stime of the process, and of its children that were waited for.
    return _Process(number, parent=int(fields[1]), cpu_ticks=sum(map(int, fields[11:15])))


def _memory_of(number: int) -> int:
    with suppress(OSError):  # it has ended, also if nobody has waited for it yet
        for line in (_PROC / str(number) / "smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0
