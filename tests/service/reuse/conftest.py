"""What is read here is read within a second: a test that takes much longer does not end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

HANGS_S = 120


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    def give_up(*_: Any) -> None:
        raise AssertionError(f"it has not ended after {HANGS_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
