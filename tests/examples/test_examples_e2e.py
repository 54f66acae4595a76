"""Each example runs on a sandbox, as `make examples` runs it, and shows what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.runner import EXAMPLES, play, sandbox_with_scripts
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.container.isolation import CannotIsolate

pytestmark = pytest.mark.e2e

SHORT = ("checkpoints", "sweep")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    try:
        with sandbox_with_scripts() as running:
            yield running
    except CannotIsolate as error:
        # The kernel does not let this user separate training scripts, as in some containers; nothing is run without.
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in EXAMPLES]
)
def test_the_example_shows_what_it_is_about(sandbox: Sandbox, name: str):
    missing = EXAMPLES[name].missing()
    # An example that needs an environment of its own says so, with the command that makes it.
    if missing is not None:
        pytest.skip(f"{name}: {missing}.")
    assert play(sandbox, name) == 0
