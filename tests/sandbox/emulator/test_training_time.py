"""The clocks of a function's process in the sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from headway_sandbox.emulator import training_time
from headway_sandbox.sagemaker.clock import Clock
from headway_service.bootstrap import clocks

_READ = """
import json
from headway_service.bootstrap.container import Container
from headway_service.bootstrap.settings import Settings
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
container = Container(Settings.of(ENVIRONMENT))
print(json.dumps([container.clocks.machine_ms(), container.clocks.training_ms(), container.clocks.machine_ms()]))
"""


def read(source: str) -> list[int]:
    """The machine time, the training time and the machine time again, of the container in another process."""
    done = subprocess.run([sys.executable, "-c", source + _READ], stdout=subprocess.PIPE, check=True)
    found: list[int] = json.loads(done.stdout)
    return found


def test_a_function_in_the_sandbox_has_its_training_time() -> None:
    clock = Clock.starting(60.0, time.time() - 3600)
    before_ms, training_ms, after_ms = read(training_time.source(clock))
    assert clock.training_time(before_ms / 1000) * 1000 - 1 <= training_ms
    assert training_ms <= clock.training_time((after_ms + 1) / 1000) * 1000
    assert before_ms >= (time.time() - 3600) * 1000


def test_a_deployed_function_has_one_time() -> None:
    before_ms, training_ms, after_ms = read("")
    assert before_ms <= training_ms <= after_ms


def test_the_sandbox_provides_all_of_the_module() -> None:
    provided: dict[str, object] = {}
    exec(
        training_time.source(Clock()) + "import sys; provided.update(vars(sys.modules.pop(MODULE)))",
        {
            "provided": provided,
            "MODULE": training_time.MODULE,
        },
    )
    sys.modules[training_time.MODULE] = clocks
    assert clocks.__name__ == training_time.MODULE
    public = {name for name, value in vars(clocks).items() if callable(value)}
    assert public <= provided.keys()
