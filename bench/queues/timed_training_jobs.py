"""SageMaker as far as a replay in real time needs it: training jobs that last, and a promise that is watched."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headway_service.errors import TrainingJobEnded
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.sagemaker_api.tags import JOB_TAG


class BrokenPromiseError(Exception):
    """What must never happen has happened."""


class TimedTrainingJobs:
    """Training jobs that really last their time on the wall clock.

    It counts the instances in use itself. A training job uses its instances until its end has been reported, so that
    one which is started on instances that the queue cannot know to be free is found out.
    """

    def __init__(self, sizes: Mapping[str, int], clock_ms: Callable[[], float]) -> None:
        self._sizes = sizes
        self._clock_ms = clock_ms
        self._names: set[str] = set()
        self._running: dict[str, tuple[str, int, str, float]] = {}
        self._ends: list[tuple[float, str, str]] = []
        self._live: set[str] = set()
        self.in_use = dict.fromkeys(sizes, 0)
        self.first_launch_ms: dict[str, float] = {}
        self.completed: dict[str, int] = {}
        self.stopped = 0
        self.wasted_ms = 0.0

    def create(self, request: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        now_ms = self._clock_ms()
        name = request["TrainingJobName"]
        if name in self._names:
            raise BrokenPromiseError(f"{name} is launched twice")
        self._names.add(name)
        job = next(tag["Value"] for tag in request["Tags"] if tag["Key"] == JOB_TAG)
        if job in self.completed or job in self._live:
            raise BrokenPromiseError(f"{job} is launched although it runs or has completed")
        pool, count = request["ResourceConfig"]["InstanceType"], request["ResourceConfig"]["InstanceCount"]
        self.in_use[pool] += count
        if self.in_use[pool] > self._sizes[pool]:
            raise BrokenPromiseError(f"{self.in_use[pool]} of {self._sizes[pool]} {pool} in use")
        self.first_launch_ms.setdefault(job, now_ms)
        self._running[name] = (pool, count, job, now_ms)
        self._live.add(job)
        heapq.heappush(self._ends, (now_ms + int(request["Environment"]["RUN_MS"]), name, "Completed"))

    def stop(self, name: str) -> None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        if name not in self._running:
            raise TrainingJobEnded(name)
        heapq.heappush(self._ends, (self._clock_ms(), name, "Stopped"))

    def describe(self, name: str) -> TrainingJobStatus | None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        if name not in self._names:
            return None
        status = "InProgress" if name in self._running else "Stopped"
        return TrainingJobStatus(attempt=name, status=status, secondary_status="", modified_ms=int(self._clock_ms()))

    def mark_of(self, arn: str) -> str | None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        raise AssertionError(f"nobody should ask about {arn}")

    def next_end_ms(self) -> float | None:
        """When the next training job ends."""
        return self._ends[0][0] if self._ends else None

    def ended(self) -> Iterator[TrainingJobStatus]:
        """The training jobs that have ended by now; each is returned once."""
        now_ms = self._clock_ms()
        while self._ends and self._ends[0][0] <= now_ms:
            ended_ms, name, status = heapq.heappop(self._ends)
            running = self._running.pop(name, None)
            if running is None:
                continue
            pool, count, job, began_ms = running
            self.in_use[pool] -= count
            self._live.remove(job)
            if status == "Completed":
                self.completed[job] = self.completed.get(job, 0) + 1
            else:
                self.stopped += 1
                self.wasted_ms += count * (ended_ms - began_ms)
            yield TrainingJobStatus(attempt=name, status=status, secondary_status=status, modified_ms=int(ended_ms))
