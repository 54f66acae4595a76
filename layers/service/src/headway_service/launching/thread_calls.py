"""Calls in parallel, each in a thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager


class ThreadCalls:
    """A :class:`headway_service.ports.parallel_calls.ParallelCalls` in threads."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        return self._threads.submit(call)

    def wait(self, calls: Collection[Future[None]]) -> None:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        wait(calls, return_when=FIRST_COMPLETED)


@contextmanager
def thread_calls(most: int) -> Iterator[ThreadCalls]:
    """Make calls in threads, which have ended when the context is left.

    Lambda freezes a process between two invocations. A call that was still in progress would continue in a later one,
    when another invocation may have the right to make it.

    Args:
        most: the number of calls in parallel.
    """
    with ThreadPoolExecutor(most, thread_name_prefix="call") as threads:
        yield ThreadCalls(threads)
