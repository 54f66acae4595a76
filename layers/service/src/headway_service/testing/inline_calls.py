"""Calls of one thread, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future


class InlineCalls:
    """A :class:`headway_service.ports.parallel_calls.ParallelCalls` whose calls end before they are returned."""

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        outcome: Future[None] = Future()
        make_call(call, outcome)
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`. All have ended."""


def make_call(call: Callable[[], None], outcome: Future[None]) -> None:
    """Make a call now.

    Args:
        outcome: is set to its outcome.
    """
    try:
        call()
    except Exception as error:  # noqa: BLE001 - it belongs to the one who uses the outcome
        outcome.set_exception(error)
    else:
        outcome.set_result(None)
