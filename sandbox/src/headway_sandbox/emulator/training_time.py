"""The training time of the queue's functions, which run in processes of their own.

`headway_service.bootstrap.clocks` is the module by which the functions read the time. Each process of a function gets
another one in its place, in which training time runs at the sandbox's speed and machine time is the machine's. So the
functions' code is the deployed one.

Written for the ministack version in `patches.VERSION`.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

from headway_sandbox.emulator.patches import module
from headway_sandbox.sagemaker.clock import Clock

MODULE = "headway_service.bootstrap.clocks"

_SOURCE = """
def _headway_clocks():
    import sys, time, types
    clocks = types.ModuleType({module!r})
    clocks.machine_time_ms = lambda: time.time_ns() // 1_000_000
    clocks.training_time_ms = lambda: int(({training_s!r} + (time.time() - {machine_s!r}) * {speed!r}) * 1000)
    sys.modules[clocks.__name__] = clocks
_headway_clocks()
del _headway_clocks
"""


def prepare(clock: Clock) -> None:
    """Let the functions use a clock for training time. Called once, before the first function runs."""
    runtime = module("core.lambda_runtime")
    runtime._PYTHON_WORKER_SCRIPT = source(clock) + runtime._PYTHON_WORKER_SCRIPT


def source(clock: Clock) -> str:
    """Return the Python source that provides the module, for the start of a process."""
    return _SOURCE.format(module=MODULE, training_s=clock.training_s, machine_s=clock.machine_s, speed=clock.speed)
