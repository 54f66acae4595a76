"""The idle rule on scripts that really run: it stops those that hang, and no others.

It takes six minutes: SageMaker publishes a figure per minute, and a verdict covers whole minutes after the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView
from tests.e2e.sandbox.training_sandbox import queue_on, training_sandbox
from tests.e2e.waiting import eventually
from tests.sandbox.fleets import on
from tests.sandbox.training.jobs import Jobs, definition

pytestmark = [pytest.mark.e2e, pytest.mark.long]

CPUS, GPUS = "ml.m5.xlarge", "ml.g5.xlarge"
BELOW_PERCENT = 2
WATCH = {"periodSeconds": 60, "periods": 1, "warmUpSeconds": 0}
DOCUMENT = {
    "pools": {CPUS: {"size": 3}, GPUS: {"size": 3}},
    "watches": {
        "idle": WATCH,
        "idle-cores": {
            **WATCH,
            "metric": "CPUUtilization",
            "fullScale": 100,
            "belowPercent": BELOW_PERCENT,
            "instanceTypes": [CPUS],
        },
    },
}
WORKS = """
import time
def work(ends_at):
    while time.monotonic() < ends_at:
        begun = time.process_time()
        while time.process_time() < begun + 0.02:
            pass
        time.sleep(0.08)
"""
# After the first verdicts, which come two minutes after the start at the earliest.
GOES_IDLE_AFTER_S = 150
FOREVER = "time.sleep(3600)"
HANGS = f"import time; {FOREVER}"
SHOWS = "import os; open(os.environ['HEADWAY_FAKE_GPU'], 'w').write('{percent}')\n"
SCRIPTS = {
    "hangs": (CPUS, HANGS),
    "works": (CPUS, f"{WORKS}work(time.monotonic() + 3600)"),
    "late": (CPUS, f"{WORKS}work(time.monotonic() + {GOES_IDLE_AFTER_S}); print('goes idle'); {FOREVER}"),
    "gpu-hangs": (GPUS, f"{SHOWS.format(percent=0)}{WORKS}work(time.monotonic() + 3600)"),
    "gpu-works": (GPUS, f"{SHOWS.format(percent=95)}{HANGS}"),
    "gpu-unknown": (GPUS, HANGS),
}


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with training_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def queue(sb: Sandbox, tmp_path: Path) -> Iterator[QueueView]:
    with queue_on(sb, tmp_path, DOCUMENT) as view:
        yield view


def test_the_idle_rule_stops_scripts_that_are_idle_and_no_others(sb: Sandbox, queue: QueueView):
    jobs = Jobs(sb)
    for name, (kind, script) in SCRIPTS.items():
        queue.cli("submit", "-", stdin=definition(sb, name, script, ResourceConfig=on(kind)))

    def wait_for_stop(*names: str) -> None:
        eventually(lambda: all(queue.states().get(name) == "stopped" for name in names), queue.summary, timeout_s=420.0)

    wait_for_stop("hangs", "gpu-hangs")
    assert queue.states() == {name: "stopped" if name in {"hangs", "gpu-hangs"} else "running" for name in SCRIPTS}
    assert "its utilization was low" in queue.job("hangs").reason.message
    assert "watch `idle-cores`" in queue.job("hangs").reason.message
    assert "watch `idle`" in queue.job("gpu-hangs").reason.message

    wait_for_stop("late")
    assert jobs.log("late") == ["goes idle"]
    kept = ("works", "gpu-works", "gpu-unknown")
    assert {name: queue.states()[name] for name in kept} == dict.fromkeys(kept, "running")
    # In the time of the first figure the script may only begin to load.
    assert min(jobs.figures("works/algo-1", "CPUUtilization")[1:]) > BELOW_PERCENT
    assert set(jobs.figures("gpu-works/algo-1", "GPUUtilization")) == {95.0}
    assert jobs.figures("gpu-unknown/algo-1", "GPUUtilization") == []
