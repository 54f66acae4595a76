"""Each example runs on a sandbox, as `make examples` runs it, and shows what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.runner import EXAMPLES, play, sandbox_with_scripts
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.container.isolation import CannotIsolate

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    try:
        started = sandbox_with_scripts()
        with started as running:
            yield running
    except CannotIsolate as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_shows_what_it_is_about(sandbox: Sandbox, name: str):
    missing = EXAMPLES[name].missing()
    if missing is not None:
        pytest.skip(f"{name}: {missing}")
    assert play(sandbox, name) == 0
