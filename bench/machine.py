"""What a measurement was made on."""

from __future__ import annotations

import os
import platform


def describe_machine() -> str:
    """Cores and Python, in a few words."""
    return f"{len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, {platform.machine()}"
