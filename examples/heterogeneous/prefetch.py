"""Items of several sources, each made ahead in a thread of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")
_LOOK_EVERY_S = 0.1


class SourceEnded(Exception):
    """A source has ended or failed, and each is needed until the consumer has enough."""


def prefetched(sources: Iterable[Iterator[T]], *, ahead: int) -> Generator[T, None, None]:
    """Return the items of all sources as they arrive, until the iterator is closed.

    Args:
        sources: Endless iterators, such as the batches of a worker or of a host.
        ahead: Items that wait for the consumer at most.

    Raises:
        SourceEnded: A source has ended or failed, which is its cause.
    """
    ready: Queue[T | SourceEnded] = Queue(maxsize=ahead)
    closed = Event()

    def put(item: T | SourceEnded) -> None:
        while not closed.is_set():
            try:
                ready.put(item, timeout=_LOOK_EVERY_S)
                return
            except Full:
                continue

    def fill(number: int, source: Iterator[T]) -> None:
        ended = SourceEnded(f"source {number} has ended")
        try:
            for item in source:
                put(item)
                if closed.is_set():
                    return
        except Exception as error:  # noqa: BLE001  the consumer raises it
            ended.__cause__ = error
        put(ended)

    for number, source in enumerate(sources):
        Thread(target=fill, args=(number, source), daemon=True).start()
    try:
        while not isinstance(item := ready.get(), SourceEnded):
            yield item
        raise item
    finally:
        closed.set()
