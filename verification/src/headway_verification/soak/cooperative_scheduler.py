"""Concurrent invocations, one step of one of them at a time, in a random order.

Each is a greenlet, or several if it has several threads: one runs up to its next external call and then yields. So the
order of all calls follows from the random source alone, and a run can be repeated. Threads of the operating system
would be a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from functools import partial
from random import Random
from types import TracebackType

from greenlet import getcurrent, greenlet

from headway_service.testing.inline_calls import make_call


class Killed(BaseException):
    """The process is killed, as with SIGKILL: no handler may catch this."""


class Thread:
    """A thread of an invocation.

    Attributes:
        number: 0 for the one that the invocation begins with, then 1 and so on.
        sleep_until_s: it waits for a slow answer until then, virtual s.
        waits_for: what it waits for; None if it does not wait.
    """

    def __init__(self, number: int, run: Callable[[], None]) -> None:
        self.number = number
        self.sleep_until_s = 0.0
        self.waits_for: Callable[[], bool] | None = None
        self.greenlet = greenlet(run)

    @property
    def begins(self) -> bool:
        """Whether it is the one that begins the others, and does not wait for them."""
        return self.number == 0 and self.waits_for is None

    @property
    def ready(self) -> bool:
        """Whether it could run if it does not sleep."""
        return not self.greenlet.dead and (self.waits_for is None or self.waits_for())


class Process:
    """An invocation of a function.

    Attributes:
        name: its name in the log.
        function: the function.
        deadline_s: when Lambda kills it, virtual s.
        skew_s: the error of its clock, s.
        about: the message that it handles, if any.
        error: the exception that it failed with, if any.
        delay_s: for how long faults have delayed its calls, s.
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
        self.delay_s = 0.0
        #: The order of precedence, where it is not random at each step.
        self.precedence = 0.0
        self._main = Thread(0, partial(self._run, work, self._fail))
        self._threads = [self._main]
        self._started = 0
        self._current = self._main

    @property
    def ended(self) -> bool:
        """Whether it has ended, for any reason."""
        return self.killed or self._main.greenlet.dead

    @property
    def sleep_until_s(self) -> float:
        """When one of its threads can continue, virtual s."""
        return min(thread.sleep_until_s for thread in self._threads if thread.ready)

    def step(self, now_s: float, choose: ThreadChoice) -> None:
        """Run one of its threads up to its next pause, or to its end.

        Args:
            choose: chooses among those that can run. If all sleep, the first to wake up runs.
        """
        ready = [thread for thread in self._threads if thread.ready]
        awake = [thread for thread in ready if thread.sleep_until_s <= now_s]
        first = min(ready, key=lambda thread: thread.sleep_until_s)
        self._switch_to(choose(awake) if len(awake) > 1 else first)
        if self.killed:
            self._unwind()
        self._threads = [thread for thread in self._threads if thread is self._main or not thread.greenlet.dead]

    def kill(self) -> None:
        """End it immediately."""
        if not self.ended:
            self.killed = True
            self._unwind()

    def start_thread(self, work: Callable[[], None]) -> None:
        """Start another thread; called by the process itself."""
        self._started += 1
        self._threads.append(Thread(self._started, partial(self._run, work, self._fail)))

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let other threads run until a condition holds; called by the process itself."""
        thread = self._current
        thread.waits_for = condition
        self.pause()
        thread.waits_for = None

    def sleep(self, until_s: float) -> None:
        """Pause the thread until this time; called by the process itself."""
        self._current.sleep_until_s = until_s
        self.pause()

    def pause(self) -> None:
        """Yield to the scheduler until the next step; called by the process itself."""
        parent = self._current.greenlet.parent
        assert parent is not None  # noqa: S101 - set by each step
        parent.switch()
        if self.killed:
            raise Killed

    def _unwind(self) -> None:
        """End all threads: each raises :class:`Killed` where it was paused."""
        for thread in self._threads:
            if thread.greenlet:
                self._switch_to(thread)

    def _switch_to(self, thread: Thread) -> None:
        self._current = thread
        _running.append(self)
        try:
            thread.greenlet.parent = getcurrent()
            thread.greenlet.switch()
        finally:
            _running.pop()

    def _run(self, work: Callable[[], None], fail: Callable[[Exception], None]) -> None:
        try:
            work()
        except Killed:
            self.killed = True
        except Exception as error:  # noqa: BLE001 - Lambda records any exception of a handler
            fail(error)

    def _fail(self, error: Exception) -> None:
        self.error = error


ThreadChoice = Callable[[Sequence[Thread]], Thread]
"""Chooses the thread of a process that runs next."""

_running: list[Process] = []


def current() -> Process | None:
    """Return the running process; None outside of all processes."""
    return _running[-1] if _running else None


class CooperativeCalls:
    """A :class:`headway_service.ports.parallel_calls.ParallelCalls` in threads of the running process.

    As with :func:`headway_service.launching.thread_calls.thread_calls`, all calls have ended when its context is left.
    A process that is killed ends at once.
    """

    def __init__(self) -> None:
        self._outcomes: list[Future[None]] = []

    def __enter__(self) -> CooperativeCalls:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        process = current()
        if process is not None and (error is None or isinstance(error, Exception)):
            process.wait(lambda: all(outcome.done() for outcome in self._outcomes))

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        process, outcome = current(), Future[None]()
        assert process is not None  # noqa: S101 - only invocations launch
        self._outcomes.append(outcome)
        process.start_thread(partial(make_call, call, outcome))
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        process = current()
        assert process is not None  # noqa: S101 - only invocations launch
        process.wait(lambda: any(outcome.done() for outcome in calls))


class CooperativeScheduler:
    """Schedules the running processes.

    Args:
        random: determines the order.
        switch: None for a random process at each step. Otherwise the process with the highest precedence runs until its
            precedence changes, with this probability at each step: one invocation then makes many calls while another
            is suspended between two. A few such changes find most ordering faults (Burckhardt et al., A Randomized
            Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).

    Attributes:
        choose_thread: chooses the next thread of a process.
    """

    def __init__(self, random: Random, switch: float | None = None) -> None:
        self._random = random
        self._switch = switch
        self._live: list[Process] = []
        self.choose_thread: ThreadChoice = random.choice

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
        return self.step_of(self._next(self.awake(now_s)), now_s)

    def step_of(self, process: Process, now_s: float) -> Process | None:
        """Run a process for one step; return it if that ends it."""
        process.step(now_s, self.choose_thread)
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
