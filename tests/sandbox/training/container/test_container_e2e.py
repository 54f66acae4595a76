"""A container that runs, without a sandbox: what its hosts use is measured in each isolation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway_sandbox.training.container import isolation
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.container.limits import Limits
from headway_sandbox.training.container.process import Container
from headway_sandbox.training.container.spec import ContainerSpec, HostSpec
from headway_sandbox.training.settings import Interpreter
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

MB = 2**20
LEAVES_A_DAEMON = f"""
import os, socket, sys, time
if socket.gethostname() == "algo-1":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            held = bytearray(b"x") * {64 * MB}
            while True: pass
        os._exit(0)
time.sleep(600)
"""


@contextmanager
def running(kind: Isolation, folder: Path, script: str, *, hosts: int) -> Iterator[Container]:
    specs = []
    for number in range(1, hosts + 1):
        for part in ("ml", "tmp"):
            (folder / f"algo-{number}" / part).mkdir(parents=True)
        host = folder / f"algo-{number}"
        output = os.open(os.devnull, os.O_WRONLY)
        specs.append(HostSpec(name=host.name, address=f"127.0.1.{number}", folder=str(host), output=output))
    python = Interpreter.find(Path(sys.executable))
    spec = ContainerSpec(
        command=[f"{python.folder}/python", "-c", script],
        environment={"PATH": os.defpath},
        hosts=specs,
        user=kind.user(),
        programs=python.programs,
        port=80,
        limits=Limits(disk_bytes=MB),
    )
    container = Container(spec, folder / "spec.json", prefix=kind.prefix)
    try:
        yield container
    finally:
        container.kill()


@pytest.mark.parametrize("kind", list(Isolation))
def test_each_host_is_measured_with_its_daemons(kind: Isolation, tmp_path: Path):
    reason = isolation.trial(kind)
    if reason is not None:
        pytest.skip(f"This machine does not allow the isolation {kind}: {reason}")
    with running(kind, tmp_path, LEAVES_A_DAEMON, hosts=2) as container:

        def is_measured() -> bool:
            container.wait(0.1)
            busy, idle = container.usages.get(0), container.usages.get(1)
            return busy is not None and idle is not None and busy.memory_bytes > 64 * MB and busy.cpu_s > idle.cpu_s + 1

        until(is_measured)
        assert container.usages[1].memory_bytes < 64 * MB
        assert container.exit_codes == {}


@pytest.mark.parametrize("kind", list(Isolation))
def test_a_host_that_has_ended_has_no_usage(kind: Isolation, tmp_path: Path):
    reason = isolation.trial(kind)
    if reason is not None:
        pytest.skip(f"This machine does not allow the isolation {kind}: {reason}")
    script = "import socket, time; time.sleep(2 if socket.gethostname() == 'algo-1' else 600)"
    with running(kind, tmp_path, script, hosts=2) as container:

        def first_has_ended() -> bool:
            container.wait(0.1)
            return bool(container.exit_codes)

        until(first_has_ended)
        assert container.exit_codes == {0: 0}
        assert list(container.usages) == [1]
