"""A thread-safe cache of limited size whose values expire."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """Values by name, each kept for a limited time. Safe for use by several threads.

    Args:
        max_size: maximum number of values; beyond it, the value written first is evicted.
        ttl_s: seconds for which a value is kept.
        monotonic_s: the clock.
    """

    def __init__(self, *, max_size: int, ttl_s: float, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._max_size = max_size
        self._ttl_s = ttl_s
        self._monotonic_s = monotonic_s
        self._values: OrderedDict[str, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, name: str, value: Value) -> None:
        """Store a value, in place of any other under that name."""
        with self._lock:
            self._values[name] = (self._monotonic_s() + self._ttl_s, value)
            self._values.move_to_end(name)
            while len(self._values) > self._max_size:
                self._values.popitem(last=False)

    def get(self, name: str) -> Value | None:
        """Return the value under that name, or None if there is none or it has expired."""
        with self._lock:
            expires_s, value = self._values.get(name, (0.0, None))
            if value is not None and self._monotonic_s() >= expires_s:
                del self._values[name]
                return None
            return value

    def discard(self, name: str) -> None:
        """Remove the value under that name, if there is one."""
        with self._lock:
            self._values.pop(name, None)

    def values(self) -> list[Value]:
        """Return all values that have not expired, the one written first at the front."""
        with self._lock:
            return [value for expires_s, value in self._values.values() if self._monotonic_s() < expires_s]
