"""Invocations that run side by side, one step of one of them at a time, in an order that chance decides.

Each is a thread, but only one ever runs: it goes on until its next external call and then hands over. So the order of
all calls follows from the random source alone, and a run can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

_local = threading.local()


class Killed(BaseException):
    """The process is gone, as after SIGKILL: no handler may catch this."""


class Process:
    """One invocation of a function."""

    def __init__(self, name: str, deadline_s: float, work: Callable[[], None], *, skew_s: float = 0.0) -> None:
        self.name = name
        #: How far its clock is off, s.
        self.skew_s = skew_s
        #: The message that it handles, if any.
        self.about: object = None
        #: When Lambda kills it, virtual s.
        self.deadline_s = deadline_s
        #: What it failed with, if it did.
        self.error: Exception | None = None
        self.ended = False
        self.killed = False
        self._work = work
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._began = False

    def step(self) -> None:
        """Let it go on to its next pause, or to its end."""
        if self._began:
            self._mine.release()
        else:
            self._began = True
            self._thread.start()
        self._theirs.acquire()

    def kill(self) -> None:
        """End it where it stands."""
        if self.ended:
            return
        self.killed = True
        if self._began:
            self.step()
        self.ended = True

    def pause(self) -> None:
        """Called by itself: hand over, and wait to go on."""
        self._theirs.release()
        self._mine.acquire()
        if self.killed:
            raise Killed

    def _run(self) -> None:
        _local.process = self
        try:
            self._work()
        except Killed:
            self.killed = True
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, Lambda would note
            self.error = error
        self.ended = True
        self._theirs.release()


def current() -> Process | None:
    """The process that is running; None outside of all."""
    return getattr(_local, "process", None)


class Processes:
    """All that run now."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._live: list[Process] = []

    @property
    def live(self) -> tuple[Process, ...]:
        """Those that have not ended, in the order in which they began."""
        return tuple(self._live)

    def start(self, process: Process) -> None:
        """Add one."""
        self._live.append(process)

    def step(self) -> Process | None:
        """Let one go on. Returns it if it has ended with this."""
        process = self._random.choice(self._live)
        process.step()
        if not process.ended:
            return None
        self._live.remove(process)
        return process

    def kill(self, process: Process) -> None:
        """Kill one."""
        process.kill()
        self._live.remove(process)

    def kill_all(self) -> None:
        """Kill whoever is left."""
        for process in self.live:
            self.kill(process)
