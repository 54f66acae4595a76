"""What a measurement was made on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("headway", "boto3", "botocore", "pydantic", "aws-lambda-powertools")
"""The packages whose code takes the functions' time."""


def describe_machine() -> str:
    """Cores and Python, in a few words."""
    return f"{cores()} cores, Python {platform.python_version()}, {platform.machine()}"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, Any]:
    """The machine, and the versions of what matters on it. Nothing that names the machine itself."""
    return {
        "cpu": cpu_model(_text("/proc/cpuinfo")) or platform.machine(),
        "cores": cores(),
        "memoryGb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "python": platform.python_version(),
        "packages": versions(PACKAGES),
        "slurm": slurm_version(),
    }


def cpu_model(cpuinfo: str) -> str:
    """The processor's name by Linux; empty if Linux has none, as for some that are not x86."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else ""


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def slurm_version() -> str | None:
    """Slurm's own words; None if it is not installed."""
    controller = shutil.which("slurmctld")
    if controller is None:
        return None
    # The only one of its commands that takes no configuration for this.
    said = subprocess.run([controller, "-V"], capture_output=True, text=True, check=False)  # noqa: S603
    return said.stdout.strip() or None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
