"""The processes of this machine that use a folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of the processes that name the folder or run in it, without zombies."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = str((process / "cwd").readlink())
            if int(process.name) != os.getpid() and (str(folder) in line or where.startswith(str(folder))):
                found.append(f"{process.name}: {line}")
    return found
