"""Defers signals during an operation that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_signals(*numbers: signal.Signals) -> Iterator[None]:
    """Deliver these signals at the end of the block.

    Outside the main thread, where Python handles no signals, it has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda came_number, _frame: came.append(came_number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: the handler was not installed from Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for came_number in came:
            signal.raise_signal(came_number)
