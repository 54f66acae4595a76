"""The utilization of GPUs that a machine does not have: a script writes it to a file.

The variable HEADWAY_FAKE_GPU has the file's path. It holds one number: the utilization of all GPUs of the host
together, in percent of one GPU, as CloudWatch has it. So a host with four GPUs may have 400.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from headway.instances import gpus_of
from headway_sandbox.training.platform import folders
from headway_sandbox.training.platform.hosts import Host

VARIABLE = "HEADWAY_FAKE_GPU"
PATH = PurePosixPath("/tmp/headway-gpu")  # noqa: S108  the container's own
_LONGEST = 64


def maximum(host: Host) -> float:
    """Return the utilization of all GPUs of a host, percent; 0 if it has none, or they are not known."""
    return 100.0 * (gpus_of(host.instance_type) or 0)


def read(host: Host) -> str:
    """Return what the script of a host has written; empty if it has written nothing."""
    return folders.read_start(host.folder, PATH.relative_to("/"), _LONGEST).decode(errors="replace").strip()


def parse(text: str, maximum: float) -> float | None:
    """Return the utilization in percent; None if it is none.

    Args:
        text: What the script has written.
        maximum: That of the host, percent.
    """
    try:
        percent = float(text)
    except ValueError:
        return None
    return percent if 0 <= percent <= maximum else None
