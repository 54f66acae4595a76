"""A queue on virtual time whose scheduler waits for AWS's answers, and whose training jobs end within a time.

A pass takes as long as its calls would wait for AWS (ASSUMED_CALL_MS), one pass at a time, and takes up to ten wake-ups
of those that came meanwhile, as SQS hands them to the one message group. Launches in flight wait at the same time.
Handlers, transactions and decisions are the real ones; the functions' processor time is excluded.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from bench.metering.partitions import PartitionMeter
from bench.queues.full_queues import ENDLESS_S
from bench.queues.virtual_time import MeteredQueue, usual_request
from bench.scenarios.cost import ASSUMED_CALL_MS
from headway_sandbox.inprocess.lambda_loader import event
from headway_service.config.document import MAX_WAITING
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.testing.inline_calls import InlineCalls, make_call
from headway_verification.soak.invariants.queue import Invariants

MINUTE_S = 60.0
WAKES_A_PASS = 10
"""BatchSize of the wake queue (template.yaml); it is the most that a FIFO queue takes."""
PATIENCE_S = 3_600.0


@dataclass(order=True)
class _Answer:
    """The answer of a call in flight."""

    due_s: float
    number: int
    give: Callable[[], None] = field(compare=False)


class TimedQueue(MeteredQueue):
    """A queue whose scheduler takes time. `now_s` advances while it waits for responses.

    Args:
        instances: of the one pool.
        rng: draws the ends of training jobs.
        at_once: the launches that may be in flight.
        allowed_a_second: the calls of CreateTrainingJob that SageMaker accepts a second; None for any number.

    Attributes:
        accepted: the names of all jobs.
        launched_s: when each training job was launched that followed another one.
        calls: the calls of CreateTrainingJob for these.
        passes: of the scheduler, from the first end on.
        oldest_wake_s: how long a wake-up waited for its pass, at most, s.
        most_idle: instances that were not in use when a pass began, at most.
    """

    def __init__(self, instances: int, rng: Random, *, at_once: int, allowed_a_second: int | None = None) -> None:
        limits = {"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING}
        super().__init__(instances, meter=PartitionMeter, limits=limits)
        self.container.settings = replace(self.container.settings, launches_at_once=at_once)
        self._allowed_a_second = allowed_a_second
        self._answers: list[_Answer] = []
        #: How long the call that is made now has waited, if it is one in parallel.
        self._aside_s: float | None = None
        self._instances = instances
        self._rng = rng
        self._invariants = Invariants(self.table, self.fleet, self.cloudwatch)
        self._sent_s: deque[float] = deque()
        self._heard_s = 0.0
        self._timed = False
        self.accepted: list[str] = []
        self._ends_s: deque[tuple[float, str]] = deque()
        self.launched_s: list[float] = []
        self.calls = 0
        self.passes = 0
        self.oldest_wake_s = 0.0
        self.most_idle = 0

    def fill(self) -> None:
        """Let jobs take all instances, and as many others wait."""
        self.minute()
        for number in range(2 * self._instances):
            name = f"job-{number:05}"
            self.submit_request(usual_request(name, run_s=ENDLESS_S))
            self.accepted.append(name)
        self.pass_time(600)
        self._require_full()

    def end_all(self, within_s: float) -> list[float]:
        """All that run end within a time; returns for each the time until another one was launched, s.

        The first end is matched with the first launch, as all instances are equal.

        Args:
            within_s: the time, s.
        """
        first_s, running = self.now_s, [job.name for job in self.fleet.jobs(now=self.now_s) if not job.ended]
        moments = sorted(first_s + self._rng.uniform(0, within_s) for _ in running)
        self._ends_s = deque(zip(moments, running, strict=True))
        self.launched_s.clear()
        self.reset()
        self._timed = True
        if self._allowed_a_second is not None:
            rate = {"per_s": self._allowed_a_second, "burst": self._allowed_a_second}
            self.fleet.faults = self.fleet.faults.with_changes({"rates": {"CreateTrainingJob": rate}})
        next_minute_s = first_s + MINUTE_S
        while len(self.launched_s) < len(running):
            if self.now_s > first_s + PATIENCE_S:
                raise RuntimeError(f"{len(self.launched_s)} of {len(running)} were launched within an hour")
            self._hear()
            if self._sent_s:
                self._pass()
            elif next_minute_s <= min([self.now_s + MINUTE_S, *(moment for moment, _ in list(self._ends_s)[:1])]):
                self._until(next_minute_s)
                next_minute_s += MINUTE_S
                self._heard_s = self.now_s
                self.invoke("reconcile", event("reconcile"))
            else:
                self._until(self._ends_s[0][0])
        # Wake-ups that are left cost a pass for each ten, though there is nothing more to do.
        while self._sent_s:
            self._pass()
            self._hear()
        self._timed = False
        return [at_s - moment for moment, at_s in zip(moments, sorted(self.launched_s), strict=True)]

    def check(self) -> None:
        """Raises :class:`headway_verification.soak.violations.Violated` if a promise is broken."""
        self._invariants.check(self.accepted, self.now_s)

    def send_message(self, *, MessageBody: str, **others: Any) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        """See :class:`bench.queues.virtual_time.MeteredQueue`. Once time counts, wake-ups wait for a pass."""
        answer = super().send_message(MessageBody=MessageBody, **others)
        if self._timed:
            self.wakes.clear()
            self._sent_s.append(self._heard_s)
        return answer

    def come_to_rest(self) -> None:
        """See :class:`bench.queues.virtual_time.MeteredQueue`. Once time counts, passes are made by :meth:`end_all`."""
        if not self._timed:
            super().come_to_rest()

    def _pass(self) -> None:
        taken = [self._sent_s.popleft() for _ in range(min(WAKES_A_PASS, len(self._sent_s)))]
        self.oldest_wake_s = max(self.oldest_wake_s, self.now_s - taken[0])
        self.most_idle = max(self.most_idle, self._instances - sum(self.fleet.in_use().values()))
        self.passes += 1
        self.invoke("schedule", event("schedule"))
        self.check()

    def _hear(self) -> None:
        """Deliver SageMaker's events so far to `observe`, one after the other."""
        for detail in self.new_events():
            payload = event("observe")
            payload["detail"] = detail
            # While a pass runs, other events arrive too, so that their wake-ups have that age.
            self._heard_s = detail["LastModifiedTime"] / 1000
            self.invoke("observe", payload)

    def make_parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`SimulatedDeployment`."""
        return nullcontext(TimedCalls(self) if self._timed else InlineCalls())

    def begin(self, call: Callable[[], None], give: Callable[[], None]) -> None:
        """Make a call whose answer comes when it has waited for AWS.

        Args:
            call: the call. It takes effect at once.
            give: gives the answer.
        """
        self._aside_s = 0.0
        call()
        heapq.heappush(self._answers, _Answer(self.now_s + self._aside_s, self.calls, give))
        self._aside_s = None

    def wait(self) -> None:
        """Wait for the next answer."""
        self._until(self._answers[0].due_s)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`bench.queues.virtual_time.MeteredQueue`."""
        launches = self._timed and operation == "CreateTrainingJob"
        self.calls += launches
        answer = super().call_sagemaker(operation, request)
        if launches:
            self.launched_s.append(self.now_s + (self._aside_s or 0.0))
        return answer

    def _until(self, moment_s: float) -> None:
        self.now_s = max(self.now_s, moment_s)
        while self._answers and self._answers[0].due_s <= self.now_s:
            heapq.heappop(self._answers).give()
        while self._ends_s and self._ends_s[0][0] <= self.now_s:
            self.fleet.finish(self._ends_s.popleft()[1], now=self.now_s)

    def _use(self, kind: str, number: float) -> None:
        super()._use(kind, number)
        if not self._timed or self._running != "schedule":
            return
        waits_s = number * ASSUMED_CALL_MS.get(kind, 0) / 1000
        if self._aside_s is None:
            self._until(self.now_s + waits_s)
        else:
            self._aside_s += waits_s

    def _require_full(self) -> None:
        if sum(self.fleet.in_use().values()) != self._instances:
            raise RuntimeError(f"{self.fleet.in_use()} in use of {self._instances}")


class TimedCalls:
    """A :class:`headway_service.ports.parallel_calls.ParallelCalls` on the time of a queue."""

    def __init__(self, queue: TimedQueue) -> None:
        self._queue = queue

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        made, outcome = Future[None](), Future[None]()

        def give() -> None:
            make_call(made.result, outcome)

        self._queue.begin(lambda: make_call(call, made), give)
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        """See :class:`headway_service.ports.parallel_calls.ParallelCalls`."""
        while not any(call.done() for call in calls):
            self._queue.wait()
