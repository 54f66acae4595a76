"""Access to the simulator, which is in the package `headway_sandbox` of a checkout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway_client.errors import UsageError


def load_simulator(module: str) -> Any:
    """Return a module of the simulator.

    Raises:
        UsageError: the simulator is not installed.
    """
    try:
        return import_module(f"headway_sandbox.simulator.{module}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The simulator is not installed here ({error.name} is missing). It comes with a checkout of Headway: "
            "type `make setup-sandbox` there, then use its .venv/bin/headway.",
            code="NoSimulator",
        ) from error


@contextmanager
def input_errors(errors: Any) -> Iterator[None]:
    """Convert the simulator's errors, whose messages say what to change, into the client's."""
    try:
        yield
    except errors.InvalidInput as error:
        text = str(error)
        raise UsageError(f"{text[:1].upper()}{text[1:]}.", code=type(error).__name__) from error
