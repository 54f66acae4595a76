"""A signal during the start of a server is delivered once the server is known."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.administrator import Administrator
from headway_sandbox.local import manager
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.deferred_signals import deferred_signals


class Ended(BaseException):
    """Raised by the signal handler."""


@pytest.fixture(autouse=True)
def handler() -> Iterator[Any]:
    """Install a SIGTERM handler that raises an exception, as in the demo."""

    def end(*_: Any) -> None:
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    yield end
    signal.signal(signal.SIGTERM, before)


def test_a_signal_is_delivered_at_the_end_of_the_block(handler: Any):
    done = []

    def work() -> None:
        with deferred_signals(signal.SIGTERM):
            signal.raise_signal(signal.SIGTERM)
            done.append("the rest of the block")

    with pytest.raises(Ended):
        work()
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_the_handler_is_restored_if_no_signal_arrives(handler: Any):
    with deferred_signals(signal.SIGTERM):
        assert signal.getsignal(signal.SIGTERM) is not handler
    assert signal.getsignal(signal.SIGTERM) is handler


def test_other_signals_are_delivered_immediately():
    def end(*_: Any) -> None:
        raise Ended

    before = signal.signal(signal.SIGUSR1, end)
    try:
        with deferred_signals(signal.SIGTERM), pytest.raises(Ended):
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_signals_are_not_deferred_in_another_thread(handler: Any):
    found: list[Any] = []

    def work() -> None:
        with deferred_signals(signal.SIGTERM):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [handler]


def test_a_signal_during_the_start_of_a_server_kills_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    calls: list[str] = []

    class Server:
        """A process whose start is interrupted by a signal."""

        def __init__(self, *_: Any, **__: Any) -> None:
            signal.raise_signal(signal.SIGTERM)
            calls.append("started")

        def kill(self) -> None:
            calls.append("killed")

        def wait(self) -> None:
            calls.append("waited for")

    monkeypatch.setattr(subprocess, "Popen", Server)
    settings = manager.Settings(state_dir=tmp_path, sources=replace(Checkout.here(), code_name="x"))
    with pytest.raises(Ended):
        manager._start_server(Path(sys.executable), settings, 1, Administrator(access_key="AKIA", secret_key="secret"))
    assert calls == ["started", "killed", "waited for"]
