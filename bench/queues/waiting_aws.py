"""A queue in real time that waits as long as for AWS, in the threads of its scheduling function."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from bench.queues.full_queues import ENDLESS_S
from bench.queues.virtual_time import POOL, usual_request
from bench.scenarios.cost import ASSUMED_CALL_MS
from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service.config.document import MAX_WAITING
from headway_service.launching.thread_calls import thread_calls
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Item, Key, Write
from headway_service.testing.memory_table import MemoryTable

_INVOCATION_MS = 900_000
"""Longer than Lambda's 30 s, so that one tick starts all jobs also if it launches one after the other."""


class WaitingTable(MemoryTable):
    """A table whose answers take time. Tables answer several callers at the same time.

    Args:
        transaction_ms: how long a transaction takes, ms.
    """

    def __init__(self, transaction_ms: float) -> None:
        super().__init__()
        self._transaction_ms = transaction_ms
        self.waits = False

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        self._wait(ASSUMED_CALL_MS["DynamoDB calls"])
        return super().get(key)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._wait(ASSUMED_CALL_MS["DynamoDB calls"])
        return super().get_all(keys)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._wait(ASSUMED_CALL_MS["DynamoDB calls"])
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        self._wait(self._transaction_ms if len(writes) > 1 else ASSUMED_CALL_MS["DynamoDB calls"])
        super().write(writes)

    def _wait(self, ms: float) -> None:
        if self.waits:
            time.sleep(ms / 1000)


class WaitingQueue(SimulatedDeployment[WaitingTable]):
    """A queue whose instances are free, and for each of which a job waits.

    Args:
        jobs: how many.
        at_once: the launches that may be in flight.
        transaction_ms: how long a transaction takes, ms.
    """

    def __init__(self, jobs: int, *, at_once: int, transaction_ms: float) -> None:
        limits = {"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING}
        document = {"pools": {POOL: {"size": jobs}}, "limits": limits}
        super().__init__(WaitingTable(transaction_ms), document)
        self.container.settings = replace(self.container.settings, launches_at_once=at_once)
        self._at_once = at_once
        for number in range(jobs):
            request = usual_request(f"job-{number:05}", run_s=ENDLESS_S)
            answer = self.invoke("api", http_event("POST", "/jobs", json.dumps(request)))
            if answer["statusCode"] != 201:
                raise RuntimeError(f"a submission was answered by {answer['statusCode']}: {answer['body']}")

    def clock(self) -> int:
        """The time of the machine: ticks end in time."""
        return int(time.time() * 1000)

    def make_parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """See :class:`SimulatedDeployment`."""
        return thread_calls(self._at_once)

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        time.sleep(ASSUMED_CALL_MS["SageMaker calls"] / 1000)
        return super().call_sagemaker(operation, request)

    def tick_s(self) -> tuple[float, float]:
        """Run one tick. Returns how long it took, and how much of the processor's time, s."""
        self.table.waits = True
        began_s, cpu_s = time.perf_counter(), time.process_time()
        self.invoke("schedule", event("schedule"), _INVOCATION_MS)
        return time.perf_counter() - began_s, time.process_time() - cpu_s

    def launched(self) -> int:
        """How many instances SageMaker's training jobs use."""
        return sum(self.fleet.in_use().values())
