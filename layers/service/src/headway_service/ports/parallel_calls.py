"""Calls that wait for a service beside each other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Protocol


class ParallelCalls(Protocol):
    """Makes calls in parallel. A call must not change anything that another one or its caller uses."""

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """Begin a call.

        Returns:
            Its outcome: that it has returned, or the error that it has raised.
        """

    def wait(self, calls: Collection[Future[None]]) -> None:
        """Wait until one of these calls has ended. There is at least one."""
