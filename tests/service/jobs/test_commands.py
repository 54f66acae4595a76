"""Commands that find a job as it is wanted write nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headway_service.ports.table import Write
from tests.service.world import ROOT, World


def writes_of(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Write]]:
    """Records the writes from now on."""
    written: list[Sequence[Write]] = []
    write = world.table.write

    def noted(writes: Sequence[Write]) -> None:
        written.append(writes)
        write(writes)

    monkeypatch.setattr(world.table, "write", noted)
    return written


Command = Callable[[World], object]
COMMANDS: dict[str, Command] = {
    "hold": lambda world: world.commands.hold("a", ROOT),
    "release": lambda world: world.commands.release("a", ROOT),
    "set priority": lambda world: world.commands.set_priority("a", 7, ROOT),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_repeated_command_writes_nothing_and_sends_no_wake_up(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.submit("a")
    command(world)
    world.wakes.clear()
    written = writes_of(world, monkeypatch)
    command(world)
    assert (written, world.wakes) == ([], [])


def test_a_repeated_stop_writes_nothing_and_wakes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.submit("a")
    world.tick()
    assert world.commands.stop("a", ROOT)[1]
    world.wakes.clear()
    written = writes_of(world, monkeypatch)
    assert world.commands.stop("a", ROOT)[1]
    # The first call may have died before it sent the wake-up.
    assert (written, world.wakes) == ([], ["stop requested"])
