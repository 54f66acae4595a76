"""Settings of the sandbox's tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _databases_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the databases that a test has left open, as a kill leaves them: from Python 3.13 on each is a warning."""
    connect = sqlite3.connect
    with ExitStack() as opened:

        def connect_and_close_later(*args: Any, **options: Any) -> sqlite3.Connection:
            return opened.enter_context(closing(connect(*args, **options)))

        monkeypatch.setattr(sqlite3, "connect", connect_and_close_later)
        yield
