"""The processor time of each process while a sandbox works."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from headway_sandbox.local.sandbox import Sandbox

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_ms(sandbox: Sandbox, act: Callable[[], object]) -> Counter[str]:
    """The processor time of the emulator, the function of the API, and all other functions during an act, ms.

    Linux counts it in hundredths of a second, so an act should take many of them. What a process used that ended
    meanwhile is not seen.
    """
    before = _used_ms(sandbox)
    act()
    used: Counter[str] = Counter()
    for (who, pid), ms in _used_ms(sandbox).items():
        used[who] += ms - before.get((who, pid), 0)
    return used


def _used_ms(sandbox: Sandbox) -> dict[tuple[str, int], int]:
    processes = [("the emulator", sandbox.info.pid)]
    for function in sandbox.functions():
        api = "ApiFunction" in function["function"]
        processes.append(("the API's function" if api else "other functions", function["pid"]))
    return {(who, pid): _of_process_ms(pid) for who, pid in processes}


def _of_process_ms(pid: int) -> int:
    """In user and in system mode: fields 14 and 15 (proc(5)); the name before them may have spaces in it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // _TICKS_PER_S
