"""Hundreds of training jobs that end within one minute: how long the next ones take to start, and in how many passes.

Virtual time: a pass takes as long as its calls would wait for AWS (ASSUMED_CALL_MS), one pass at a time, and takes up
to ten wake-ups of those that came meanwhile, as SQS hands them to the one message group. Handlers, transactions and
decisions are the real ones; the functions' processor time is excluded, and SageMaker accepts launches at any rate.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any

from bench.metering.partitions import READ, WRITTEN, PartitionMeter
from bench.queues.full_queues import ENDLESS_S
from bench.queues.virtual_time import MeteredQueue, usual_request
from bench.queues.warm import percentile
from bench.scenarios.cost import ASSUMED_CALL_MS
from headway_sandbox.inprocess.lambda_loader import event
from headway_service.config.document import MAX_WAITING
from headway_verification.soak.invariants.queue import Invariants

WITHIN_S, MINUTE_S = 60.0, 60.0
WAKES_A_PASS = 10
"""BatchSize of the wake queue (template.yaml); it is the most that a FIFO queue takes."""
PATIENCE_S = 3_600.0


class TimedQueue(MeteredQueue):
    """A queue whose scheduler takes time. `now_s` advances while it waits for responses.

    Args:
        instances: of the one pool.
        rng: draws the ends of training jobs.

    Attributes:
        accepted: the names of all jobs.
        launched_s: when each training job was launched that followed another one.
        passes: of the scheduler, from the first end on.
        oldest_wake_s: how long a wake-up waited for its pass, at most, s.
        most_idle: instances that were not in use when a pass began, at most.
    """

    def __init__(self, instances: int, rng: Random) -> None:
        limits = {"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING}
        super().__init__(instances, meter=PartitionMeter, limits=limits)
        self._instances = instances
        self._rng = rng
        self._invariants = Invariants(self.table, self.fleet, self.cloudwatch)
        self._sent_s: deque[float] = deque()
        self._heard_s = 0.0
        self._timed = False
        self.accepted: list[str] = []
        self._ends_s: deque[tuple[float, str]] = deque()
        self.launched_s: list[float] = []
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

    def end_all(self) -> list[float]:
        """All that run end within a minute; returns for each the time until another one was launched, s.

        The first end is matched with the first launch, as all instances are equal.
        """
        first_s, running = self.now_s, [job.name for job in self.fleet.jobs(now=self.now_s) if not job.ended]
        moments = sorted(first_s + self._rng.uniform(0, WITHIN_S) for _ in running)
        self._ends_s = deque(zip(moments, running, strict=True))
        self.launched_s.clear()
        self.reset()
        self._timed = True
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
        return [at_s - moment for moment, at_s in zip(moments, self.launched_s, strict=True)]

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

    def settle(self) -> None:
        """See :class:`bench.queues.virtual_time.MeteredQueue`. Once time counts, passes are made by :meth:`end_all`."""
        if not self._timed:
            super().settle()

    def _pass(self) -> None:
        taken = [self._sent_s.popleft() for _ in range(min(WAKES_A_PASS, len(self._sent_s)))]
        self.oldest_wake_s = max(self.oldest_wake_s, self.now_s - taken[0])
        self.most_idle = max(self.most_idle, self._instances - sum(self.fleet.in_use().values()))
        self.passes += 1
        self.invoke("schedule", event("schedule"))
        self.check()

    def _hear(self) -> None:
        """Deliver SageMaker's events so far to `observe`, one after the other."""
        for detail in self.fleet.advance(self.now_s):
            payload = event("observe")
            payload["detail"] = detail
            # While a pass runs, other events arrive too, so that their wake-ups have that age.
            self._heard_s = detail["LastModifiedTime"] / 1000
            self.invoke("observe", payload)

    def _until(self, moment_s: float) -> None:
        self.now_s = max(self.now_s, moment_s)
        while self._ends_s and self._ends_s[0][0] <= self.now_s:
            self.fleet.finish(self._ends_s.popleft()[1], now=self.now_s)

    def _use(self, kind: str, number: float) -> None:
        super()._use(kind, number)
        if self._timed and self._running == "schedule":
            self._until(self.now_s + number * ASSUMED_CALL_MS.get(kind, 0) / 1000)
            if kind == "SageMaker CreateTrainingJob":
                self.launched_s.append(self.now_s)

    def _require_full(self) -> None:
        if sum(self.fleet.in_use().values()) != self._instances:
            raise RuntimeError(f"{self.fleet.in_use()} in use of {self._instances}")


def measure(instances: int, *, seed: int = 1) -> dict[str, Any]:
    """Simulate a number of ends within a minute; all promises are checked after each pass.

    Args:
        instances: the number of running jobs with one instance each, and of waiting jobs.
        seed: of the moments at which they end.
    """
    queue = TimedQueue(instances, Random(seed))
    queue.fill()
    began_s = queue.now_s
    waits_s = queue.end_all()
    used = {
        kind: sum(number for (_, each), number in queue.used.items() if each.startswith(f"DynamoDB {kind}"))
        for kind in (f"{WRITTEN}ledger", f"{READ}ledger")
    }
    states = [job["jobState"] for job in queue.jobs()]
    took_s = max(queue.launched_s) - began_s
    return {
        "ended": states.count("completed"),
        "launched": len(waits_s),
        "lost": len(queue.accepted) - len(states),
        "passes": queue.passes,
        "secondsUntilLaunched": {
            "median": round(statistics.median(waits_s), 1),
            "p99": round(percentile(waits_s, 99), 1),
            "max": round(max(waits_s), 1),
        },
        "secondsUntilAllLaunched": round(took_s, 1),
        "oldestWakeSeconds": round(queue.oldest_wake_s, 1),
        "mostInstancesIdle": queue.most_idle,
        "ledgerUnits": {"written": used[f"{WRITTEN}ledger"], "read": used[f"{READ}ledger"]},
        "ledgerUnitsASecond": {
            "written": round(used[f"{WRITTEN}ledger"] / took_s, 1),
            "read": round(used[f"{READ}ledger"] / took_s, 1),
        },
    }
