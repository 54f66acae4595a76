"""A queue on virtual time in which many jobs run, and each call of SageMaker takes time."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.request_builder import training_request
from headway_service.observability import metrics
from headway_service.store.ledger import read_ledger
from headway_verification.crowds.slow_table import SlowTable

POOL, ELSEWHERE = "ml.g5.xlarge", "ml.c5.xlarge"
"""The pool of the queue, and the instances of training jobs that did not come through it."""

TRAINS_S = 20 * 86_400
"""How long the jobs train, s."""

MAX_BATCH = 100
"""Jobs that are submitted together."""


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
        has_sums: whether it has added to the sums of usage.
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


class FleetDeployment(SimulatedDeployment[SlowTable]):
    """A queue in which many jobs run.

    Args:
        size: instances of its pool.
        call_s: how long a call of SageMaker takes, s.
    """

    def __init__(self, size: int, call_s: float) -> None:
        limits = dict.fromkeys(("waitingPerTeam", "waitingPerOwner"), 10_000)
        super().__init__(SlowTable(self._pass_time), {"pools": {POOL: {"size": size}}, "limits": limits})
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
        self.table.is_slow = self._is_slow = True
        self._ends_s = began_s + TIMEOUT_S["reconcile"]
        timed_out = False
        self._printed = io.StringIO()
        try:
            self.invoke("reconcile", event("reconcile"), TIMEOUT_S["reconcile"] * 1000)
        except TimedOut:
            timed_out = True
        self.table.is_slow, self._is_slow, self._ends_s = False, False, None
        printed, seen_ms = self._printed.getvalue(), [each.seen_ms for each in read_ledger(self.table).attempts]
        return Run(
            took_s=self.now_s - began_s,
            calls=self._calls,
            is_waking=bool(self.wakes),
            has_gauges=f'"{metrics.STARTABLE.name}"' in printed,
            has_sums=f'"{metrics.UNACCOUNTED.name}"' in printed,
            timed_out=timed_out,
            oldest_s=(self.machine_clock() - min(seen_ms)) / 1000,
        )

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
