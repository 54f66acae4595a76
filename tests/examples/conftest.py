"""One sandbox that runs training scripts for the examples of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from examples.runner import EXAMPLES, play, sandbox_with_scripts
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.container.isolation import CannotIsolate


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    try:
        with sandbox_with_scripts() as running:
            yield running
    except CannotIsolate as error:
        pytest.skip(str(error))


@pytest.fixture
def exit_code_of(sandbox: Sandbox) -> Callable[[str], int]:
    """Plays an example, as `make examples` does, and returns its exit code."""

    def played(name: str) -> int:
        missing = EXAMPLES[name].missing()
        if missing is not None:
            pytest.skip(f"{name}: {missing}.")
        return play(sandbox, name)

    return played
