"""Holds signals back while something is done that must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_signals(*numbers: signal.Signals) -> Iterator[None]:
    """Deliver these signals at the end of the block.

    Outside the main thread, where Python handles none, it does nothing.
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
            # None stands for a handler that was not installed from Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for came_number in came:
            signal.raise_signal(came_number)
