"""The options of `headway sandbox up --train`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headway_sandbox.errors import WrongUsage
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.training.container import isolation
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.settings import TrainingSettings, find_interpreters

DURATIONS = Durations(provisioning_s=5.0, download_s=5.0, upload_s=5.0, release_s=1.0, warm_start_s=1.0, restart_s=10.0)
"""Scripts run at real speed, so the other stages are shorter than on SageMaker."""

_ISOLATED_BY = {
    Isolation.ROOT: "each as a user of its own",
    Isolation.USER_NAMESPACE: "as your user, in a user namespace: your files are hidden from them by mounts alone",
}


MIN_MEMORY_BYTES = 64 * 2**20
"""Least memory of a host: a Python with an SDK takes about as much."""
_GIB = 2**30


class SpeedWithTraining(WrongUsage):
    """Scripts run at real speed."""


class TooLittleMemory(WrongUsage):
    """A host would have too little memory for any script."""


def settings(
    images: Sequence[str] = (),
    *,
    stop_grace_s: float | None = None,
    memory_gib: float | None = None,
    speed: float | None = None,
) -> TrainingSettings:
    """Return the settings, after a trial of the isolation.

    Args:
        images: `PATTERN=PYTHON` each; none: this Python for all images.
        stop_grace_s: From SIGTERM to SIGKILL, s; None: 120, as on SageMaker.
        memory_gib: Memory of each host, GiB; None: that of the machine.
        speed: The sandbox's speed.

    Raises:
        SpeedWithTraining: The speed is not 1.
        TooLittleMemory: A script would not start in that memory.
        NoInterpreter: A Python does not run.
        CannotIsolate: This machine cannot isolate scripts.
    """
    if speed not in {None, 1.0}:
        raise SpeedWithTraining(f"Scripts run in real time: --train needs --speed 1, not {speed:g}.")
    memory_bytes = None if memory_gib is None else round(memory_gib * _GIB)
    if memory_bytes is not None and memory_bytes < MIN_MEMORY_BYTES:
        raise TooLittleMemory(f"--memory is at least {MIN_MEMORY_BYTES / _GIB:g} (GiB), not {memory_gib:g}.")
    return TrainingSettings(
        interpreters=find_interpreters(images, default=Path(sys.executable)),
        isolation=isolation.find(),
        stop_grace_s=service_facts.STOP_GRACE_S if stop_grace_s is None else stop_grace_s,
        memory_bytes=memory_bytes,
    )


def describe(training: TrainingSettings) -> str:
    """Return a sentence on what runs, and how it is isolated."""
    pythons = ", ".join(f"{pattern} with {each.folder}/python" for pattern, each in training.interpreters.items())
    limit = training.memory_bytes
    memory = "the machine's memory" if limit is None else f"{limit / _GIB:g} GiB of memory"
    return (
        f"scripts of training jobs run on this machine, {_ISOLATED_BY[Isolation(training.isolation)]}; "
        f"images: {pythons}; {memory} for each host; {training.stop_grace_s:g} s from SIGTERM to SIGKILL"
    )
