"""A few values kept for a while, within limits."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Values by name: the newest `limit` of them, each for `for_s` seconds. Threads may share one."""

    def __init__(self, *, limit: int, for_s: float, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._for_s = for_s
        self._monotonic_s = monotonic_s
        self._values: OrderedDict[str, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, name: str, value: Value) -> None:
        """Keep a value from now on, in place of any other of that name."""
        with self._lock:
            self._values[name] = (self._monotonic_s() + self._for_s, value)
            self._values.move_to_end(name)
            while len(self._values) > self._limit:
                self._values.popitem(last=False)

    def get(self, name: str) -> Value | None:
        """Return the value of that name, or None if there is none any more."""
        with self._lock:
            until_s, value = self._values.get(name, (0.0, None))
            if value is not None and self._monotonic_s() >= until_s:
                del self._values[name]
                return None
            return value

    def drop(self, name: str) -> None:
        """Forget the value of that name, if there is one."""
        with self._lock:
            self._values.pop(name, None)
