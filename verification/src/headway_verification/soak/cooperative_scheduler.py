"""Invocations that run side by side, one step of one of them at a time, in an order that chance decides.

Each is a greenlet: it runs until its next external call and then yields. So the order of all calls follows from
the random source alone, and a run can be repeated. Threads would do the same a hundred times as slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """The process is gone, as after SIGKILL: no handler may catch this."""


class Process:
    """One invocation of a function.

    Attributes:
        name: what the log calls it.
        function: which function.
        deadline_s: when Lambda kills it, virtual s.
        skew_s: how far its clock is off, s.
        about: the message that it handles, if any.
        error: its error, if it failed.
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
        #: The precedence of tasks, if it is not random at each step.
        self.precedence = 0.0
        self._work = work
        self._greenlet = greenlet(self._run)

    @property
    def ended(self) -> bool:
        """Whether it is over, one way or another."""
        return self.killed or self._greenlet.dead

    def step(self) -> None:
        """Run it to its next yield, or to its end."""
        _running.append(self)
        try:
            self._greenlet.parent = getcurrent()
            self._greenlet.switch()
        finally:
            _running.pop()

    def kill(self) -> None:
        """End it at its current call."""
        if not self.ended:
            self.killed = True
            if self._greenlet:
                self.step()

    def pause(self) -> None:
        """Called by the task itself: yield, and wait to be resumed."""
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
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, Lambda would note
            self.error = error


_running: list[Process] = []


def current() -> Process | None:
    """The process that is running; None outside of all."""
    return _running[-1] if _running else None


class CooperativeScheduler:
    """All that run now.

    Args:
        random: chooses the next task. switch: None for a random choice at each step. Otherwise the task with precedence
        continues, until chance gives it
            another one, so often at each step: one invocation then makes many calls while another stands between
            two. Few such changes find most faults of ordering (Burckhardt et al., A Randomized Scheduler with
            Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
    """

    def __init__(self, random: Random, switch: float | None = None) -> None:
        self._random = random
        self._switch = switch
        self._live: list[Process] = []

    @property
    def live(self) -> tuple[Process, ...]:
        """Those that have not ended, in the order in which they began."""
        return tuple(self._live)

    def awake(self, now_s: float) -> list[Process]:
        """The tasks that can continue now."""
        return [process for process in self._live if process.sleep_until_s <= now_s]

    def start(self, process: Process) -> None:
        """Add one."""
        process.precedence = self._random.random()
        self._live.append(process)

    def step(self, now_s: float) -> Process | None:
        """Resume one task that can continue. Returns it if it has ended."""
        return self.step_of(self._next(self.awake(now_s)))

    def step_of(self, process: Process) -> Process | None:
        """As :meth:`step`, for this one."""
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
        """Kill one."""
        process.kill()
        self._live.remove(process)

    def kill_all(self) -> None:
        """Kill the remaining tasks."""
        for process in self.live:
            self.kill(process)
