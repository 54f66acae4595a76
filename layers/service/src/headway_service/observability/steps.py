"""Runs the steps of an invocation, so that one that fails does not keep the others from running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from headway_service.observability.logging import logger

Step = Callable[[str], AbstractContextManager[None]]
"""Returns the context of a step with this name."""


@contextmanager
def isolated_steps() -> Iterator[Step]:
    """Give a context for each of several steps: an error in one is logged, and raised when all have been run.

    So the invocation still fails, and the alarm on failed invocations fires.

    Raises:
        Exception: the error of the first step that has failed.
    """
    errors: list[Exception] = []

    @contextmanager
    def step(name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised below
            logger.exception("a step failed; the others are run", extra={"step": name})
            errors.append(error)

    yield step
    if errors:
        raise errors[0]
