"""A simulated deployment without handlers and without a fake SageMaker, whose capacity promise is checked.

Jobs enter through ``transitions.enqueue`` without the checks of admission, which are not measured.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from bench.peers.kueue_jobs import POOLS, Submission
from bench.queues.timed_training_jobs import BrokenPromiseError, TimedTrainingJobs
from headway.lifecycle import JobState
from headway.reasons import Reason, ReasonCode
from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_service.ports.training_jobs import AllTrainingJobs, TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from headway_service.tracking.observer import StatusOutcome

_INVOCATION_MS = 60_000


class Queue(SimulatedDeployment[MemoryTable]):
    """The queue.

    Args:
        document: the configuration document.
        training_jobs: SageMaker.
        clock_ms: now, ms since the epoch.
        limit_s: of each job's run time.

    Attributes:
        preemptions, releases, rounds: sums over all ticks' reports.
        tick_ms: how long each tick took.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        training_jobs: TimedTrainingJobs,
        clock_ms: Callable[[], int],
        *,
        limit_s: int,
    ) -> None:
        # The container takes its clock from here.
        self._clock_ms = clock_ms
        super().__init__(MemoryTable(), document)
        self._training_jobs = training_jobs
        self._limit_s = limit_s
        self._observer = self.container.observer
        self.preemptions = 0
        self.releases = 0
        self.rounds = 0
        self.tick_ms: list[float] = []

    def clock(self) -> int:
        """See :class:`SimulatedDeployment`."""
        return self._clock_ms()

    def make_training_jobs(self) -> AllTrainingJobs:
        """See :class:`SimulatedDeployment`."""
        # It has no listing, which ticks do not call.
        return cast("AllTrainingJobs", self._training_jobs)

    def accept(self, job: Submission, *, team: str, entered_ms: int) -> None:
        """Add a job to the queue of a team; of no team if that is empty."""
        request = json.dumps(
            {
                "TrainingJobName": job.name,
                "ResourceConfig": {"InstanceType": job.pool, "InstanceCount": job.kind.demand},
                "StoppingCondition": {"MaxRuntimeInSeconds": self._limit_s},
                "Environment": {"RUN_MS": str(job.kind.run_ms)},
                "Tags": [],
            }
        )
        entered = Reason(code=ReasonCode.ENTERED, message="entered the queue")
        record = JobRecord.model_validate(
            {
                "jobName": job.name,
                "jobState": JobState.PENDING,
                "priority": job.kind.priority,
                "entryTime": entered_ms,
                "demand": {job.pool: job.kind.demand},
                "requestDigest": hashlib.sha256(request.encode()).hexdigest(),
                "reason": {"code": entered.code, "message": entered.message},
                "team": team,
                "limitMs": self._limit_s * 1000,
            }
        )
        self.table.write(transitions.enqueue(record, request))

    def take(self, sighting: TrainingJobStatus) -> None:
        """Record the end of a training job.

        Raises:
            BrokenPromiseError: the observer does not.
        """
        if self._observer.apply_status(sighting, self._clock_ms()) is not StatusOutcome.TICK_DUE:
            raise BrokenPromiseError(f"the end of {sighting.attempt} is not taken in")

    def tick(self) -> None:
        """Decide, and do it.

        Raises:
            BrokenPromiseError: a write was refused although there is no other writer.
        """
        began_s = time.perf_counter()
        report = self.container.tick(_INVOCATION_MS)
        self.tick_ms.append((time.perf_counter() - began_s) * 1000)
        self.preemptions += len(report.preempted)
        self.releases += len(report.released)
        self.rounds += report.rounds
        if report.rejected or report.unclear:
            raise BrokenPromiseError(f"{report.rejected} actions rejected, {report.unclear} unclear, with one writer")

    def check(self) -> int:
        """The capacity promise, on the ledger as it is stored.

        Returns:
            How many instances are held.

        Raises:
            BrokenPromiseError: it is broken.
        """
        pools: dict[str, tuple[int, int]] = {}
        held, reserved = dict.fromkeys(POOLS, 0), dict.fromkeys(POOLS, 0)
        for item in self.table.query(LEDGER, limit=1_000_000):
            kind = item["sk"].partition("#")[0]
            if kind == "pool":
                pools[item["pool"]] = (item["size"], item["free"])
            elif kind in {"attempt", "reservation"}:
                sums = held if kind == "attempt" else reserved
                for pool, count in item["demand"].items():
                    sums[pool] += count
        for pool, (size, left) in pools.items():
            if held[pool] + reserved[pool] > size or left != size - held[pool] - reserved[pool]:
                told = f"{held[pool]} held and {reserved[pool]} reserved of {size}, {left} free"
                raise BrokenPromiseError(f"the ledger of {pool}: {told}")
            if self._training_jobs.in_use[pool] > held[pool]:
                raise BrokenPromiseError(f"{pool}: {self._training_jobs.in_use[pool]} in use, {held[pool]} held")
        return sum(held.values())

    def problems(self, jobs: Sequence[Submission]) -> list[str]:
        """The jobs that did not complete exactly once, and leftovers in the table."""
        found = []
        done = self._training_jobs.completed
        for job in jobs:
            item = self.table.get(JobRecord.key(job.name))
            state = item["jobState"] if item else "missing"
            if state != JobState.COMPLETED or done.get(job.name) != 1:
                found.append(f"{job.name} is {state}; completed {done.get(job.name, 0)} times")
        if self.check():
            found.append("instances are still held")
        return found
