"""A queue on virtual time in which many jobs run, and each call of SageMaker takes time."""

from __future__ import annotations

import heapq
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.request_builder import training_request
from headway_service.accounting.records import ProgressRecord
from headway_service.observability import metrics
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Item, Key
from headway_service.store.ledger import read_ledger
from headway_service.testing.inline_calls import InlineCalls, make_call
from headway_service.tracking.attempt_checks import DESCRIBED_AT_ONCE
from headway_verification.crowds.slow_table import SlowTable

POOL, ELSEWHERE = "ml.g5.xlarge", "ml.c5.xlarge"
"""The pool of the queue, and the instances of training jobs that did not come through it."""

TRAINS_S = 20 * 86_400
"""How long the jobs train, s."""

MAX_BATCH = 100
"""Jobs that are submitted together."""


class _ReadTable(SlowTable):
    """A table that notes which items are read by their keys."""

    def __init__(self, wait: Callable[[float], None]) -> None:
        super().__init__(wait)
        self.read: set[Key] = set()

    def get(self, key: Key) -> Item | None:
        """See :class:`SlowTable`."""
        self.read.add(key)
        return super().get(key)


class TimedOut(BaseException):
    """The time of an invocation is over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of the reconciler.

    Attributes:
        took_s: virtual time, s.
        calls: its calls of SageMaker.
        is_waking: whether it has requested a tick.
        has_gauges: whether it has published the gauges.
        has_sums: whether it has looked for what the sums of usage lack.
        timed_out: whether it was ended by the timeout of the function.
        oldest_s: how long ago SageMaker was asked last about the attempt that it was asked about longest ago, s.
    """

    took_s: float
    calls: int
    is_waking: bool
    has_gauges: bool
    has_sums: bool
    timed_out: bool
    oldest_s: float


class VirtualThreads:
    """A :class:`headway_service.ports.parallel_calls.ParallelCalls` whose calls take virtual time beside each other.

    Args:
        deployment: whose time.
        threads: how many there are.
    """

    def __init__(self, deployment: FleetDeployment, threads: int) -> None:
        self._deployment = deployment
        #: When each thread is free, and when each call has ended, s.
        self._free_s = [0.0] * threads
        self._ended_s: dict[Future[None], float] = {}

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        outcome: Future[None] = Future()
        begun_s = heapq.heappop(self._free_s)
        with self._deployment.aside(begun_s):
            make_call(call, outcome)
            self._ended_s[outcome] = self._deployment.now_s
        heapq.heappush(self._free_s, self._ended_s[outcome])
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        self._deployment.pass_until(min(self._ended_s[each] for each in calls))


class FleetDeployment(SimulatedDeployment[_ReadTable]):
    """A queue in which many jobs run.

    Args:
        size: instances of its pool.
        call_s: how long a call of SageMaker takes, s.
    """

    def __init__(self, size: int, call_s: float) -> None:
        limits = dict.fromkeys(("waitingPerTeam", "waitingPerOwner"), 10_000)
        super().__init__(_ReadTable(self._pass_time), {"pools": {POOL: {"size": size}}, "limits": limits})
        self._call_s = call_s
        self._is_slow = False
        self._ends_s: float | None = None
        self._calls = 0
        #: What the handlers print: their metrics.
        self._printed = io.StringIO()

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`SimulatedDeployment`."""
        with redirect_stdout(self._printed):
            return super().invoke(function, payload, remaining_ms)

    def start(self, count: int) -> None:
        """Submit jobs that train for long, and run ticks until all of them train."""
        for first in range(0, count, MAX_BATCH):
            names = [f"job-{number:05}" for number in range(first, min(first + MAX_BATCH, count))]
            requests = [training_request(name, [(POOL, 1)], run_s=TRAINS_S) for name in names]
            status, _ = self.call_api("POST", "/job-batches", {"requests": requests})
            assert status == HTTPStatus.OK, status  # noqa: S101 - a simulation that does not begin shows nothing
        while any(each.training_since_ms is None for each in read_ledger(self.table).attempts) or self._waits(count):
            self.invoke("schedule", event("schedule"))
            for detail in self.due_events(60):
                self.invoke("observe", {"detail": detail})

    def add_ended(self, count: int) -> None:
        """Add training jobs that did not come through the queue, and have ended."""
        for number in range(count):
            name = f"elsewhere-{number:05}"
            self.fleet.call("CreateTrainingJob", training_request(name, [(ELSEWHERE, 1)], run_s=60), now=self.now_s)
        for _ in self.due_events(600):
            pass

    def minute(self) -> Run:
        """Run the reconciler of the next minute; events come until then."""
        for detail in self.due_events(60 - self.now_s % 60):
            self.invoke("observe", {"detail": detail})
        began_s, self._calls = self.now_s, 0
        self.wakes.clear()
        self.table.read.clear()
        self.table.is_slow = self._is_slow = True
        self._ends_s = began_s + TIMEOUT_S["reconcile"]
        timed_out = False
        self._printed = io.StringIO()
        try:
            self.invoke("reconcile", event("reconcile"), TIMEOUT_S["reconcile"] * 1000)
        except TimedOut:
            timed_out = True
        self.table.is_slow, self._is_slow, self._ends_s = False, False, None
        seen_ms = [each.seen_ms for each in read_ledger(self.table).attempts]
        return Run(
            took_s=self.now_s - began_s,
            calls=self._calls,
            is_waking=bool(self.wakes),
            has_gauges=f'"{metrics.ALLOCATED.name}"' in self._printed.getvalue(),
            has_sums=ProgressRecord.KEY in self.table.read,
            timed_out=timed_out,
            oldest_s=(self.machine_clock() - min(seen_ms)) / 1000,
        )

    def make_parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`SimulatedDeployment`."""
        return nullcontext(VirtualThreads(self, DESCRIBED_AT_ONCE) if self._is_slow else InlineCalls())

    @contextmanager
    def aside(self, begun_s: float) -> Iterator[None]:
        """Let something take time in another thread, which cannot begin it before a time."""
        now_s, ends_s = self.now_s, self._ends_s
        self.now_s, self._ends_s = max(now_s, begun_s), None
        try:
            yield
        finally:
            self.now_s, self._ends_s = now_s, ends_s

    def pass_until(self, time_s: float) -> None:
        """Let time pass until then, if that is to come."""
        self._pass_time(max(0.0, time_s - self.now_s))

    def remaining_ms(self, remaining_ms: int) -> int:
        """See :class:`SimulatedDeployment`."""
        return remaining_ms if self._ends_s is None else int((self._ends_s - self.now_s) * 1000)

    def sleep(self, seconds: float) -> None:
        """See :class:`SimulatedDeployment`."""
        self._pass_time(seconds)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        if self._is_slow:
            self._calls += 1
            self._pass_time(self._call_s)
        return super().call_sagemaker(operation, request)

    def _waits(self, count: int) -> bool:
        return len(read_ledger(self.table).attempts) < count

    def _pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        if self._ends_s is not None and self.now_s >= self._ends_s:
            raise TimedOut
