"""Concurrent invocations, one step of one of them at a time, in a random order.

Each is a greenlet: it runs up to its next external call and then yields. So the order of all calls follows from the
random source alone, and a run can be repeated. Threads would be a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """The process is killed, as with SIGKILL: no handler may catch this."""


class Process:
    """An invocation of a function.

    Attributes:
        name: its name in the log.
        function: the function.
        deadline_s: when Lambda kills it, virtual s.
        skew_s: the error of its clock, s.
        about: the message that it handles, if any.
        error: the exception that it failed with, if any.
        sleep_until_s: it waits for a slow answer until then, virtual s.
    """

    def __init__(
        self, name: str, function: str, deadline_s: float, work: Callable[[], None], *, skew_s: float = 0.0
    ) -> None:
        self.name = name
        self.function = function
        self.deadline_s = deadline_s
        self.skew_s = skew_s
        self.about: object = None
        self.error: Exception | None = None
        self.killed = False
        self.sleep_until_s = 0.0
        #: The order of precedence, where it is not random at each step.
        self.precedence = 0.0
        self._work = work
        self._greenlet = greenlet(self._run)

    @property
    def ended(self) -> bool:
        """Whether it has ended, for any reason."""
        return self.killed or self._greenlet.dead

    def step(self) -> None:
        """Run it up to its next pause, or to its end."""
        _running.append(self)
        try:
            self._greenlet.parent = getcurrent()
            self._greenlet.switch()
        finally:
            _running.pop()

    def kill(self) -> None:
        """End it immediately."""
        if not self.ended:
            self.killed = True
            if self._greenlet:
                self.step()

    def pause(self) -> None:
        """Yield to the scheduler until the next step; called by the process itself."""
        parent = self._greenlet.parent
        assert parent is not None  # noqa: S101 - set by each step
        parent.switch()
        if self.killed:
            raise Killed

    def _run(self) -> None:
        try:
            self._work()
        except Killed:
            self.killed = True
        except Exception as error:  # noqa: BLE001 - Lambda records any exception of a handler
            self.error = error


_running: list[Process] = []


def current() -> Process | None:
    """Return the running process; None outside of all processes."""
    return _running[-1] if _running else None


class CooperativeScheduler:
    """Schedules the running processes.

    Args:
        random: determines the order.
        switch: None for a random process at each step. Otherwise the process with the highest precedence runs until its
            precedence changes, with this probability at each step: one invocation then makes many calls while another
            is suspended between two. A few such changes find most ordering faults (Burckhardt et al., A Randomized
            Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
    """

    def __init__(self, random: Random, switch: float | None = None) -> None:
        self._random = random
        self._switch = switch
        self._live: list[Process] = []

    @property
    def live(self) -> tuple[Process, ...]:
        """The processes that have not ended, in the order of their starts."""
        return tuple(self._live)

    def awake(self, now_s: float) -> list[Process]:
        """Return the processes that are ready to run."""
        return [process for process in self._live if process.sleep_until_s <= now_s]

    def start(self, process: Process) -> None:
        """Add a process."""
        process.precedence = self._random.random()
        self._live.append(process)

    def step(self, now_s: float) -> Process | None:
        """Run a ready process for one step; return it if that ends it."""
        return self.step_of(self._next(self.awake(now_s)))

    def step_of(self, process: Process) -> Process | None:
        """Run this process for one step; return it if that ends it."""
        process.step()
        if not process.ended:
            return None
        self._live.remove(process)
        return process

    def _next(self, awake: Sequence[Process]) -> Process:
        if self._switch is None:
            return self._random.choice(awake)
        first = max(awake, key=lambda process: process.precedence)
        if self._random.random() < self._switch:
            first.precedence = self._random.random()
        return first

    def kill(self, process: Process) -> None:
        """Kill a process."""
        process.kill()
        self._live.remove(process)

    def kill_all(self) -> None:
        """Kill all processes that have not ended."""
        for process in self.live:
            self.kill(process)
