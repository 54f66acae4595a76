"""Limits of the processes of a training job."""

from __future__ import annotations

import resource
from dataclasses import dataclass

MAX_PROCESSES = 1024
"""Processes and threads of a host."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one host."""

    processes: int = MAX_PROCESSES
    """Processes and threads."""
    files_open: int = 65_536
    disk_bytes: int
    """Size of all files of the host, and of a single one."""
    memory_bytes: int | None = None
    """Memory of all processes of the host; None: that of the machine. The supervisor measures it."""

    def apply(self) -> None:
        """Set them for this process and all that it starts."""
        for kind, limit in (
            (resource.RLIMIT_NPROC, self.processes),
            (resource.RLIMIT_NOFILE, self.files_open),
            (resource.RLIMIT_FSIZE, self.disk_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            lowered = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (lowered, lowered))
