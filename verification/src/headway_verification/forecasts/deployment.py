"""A queue on virtual time whose jobs hold their instances for exactly as long as their limits let them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.request_builder import training_request
from headway_sandbox.sagemaker.training_job import Durations
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.store.ledger import read_ledger
from headway_service.testing.memory_table import MemoryTable

CALLER = Caller(arn="arn:aws:iam::123456789012:root", account="123456789012")

_STAGES = Durations()
OVERHEAD_S = int(_STAGES.provisioning_s + _STAGES.download_s + _STAGES.upload_s)
"""How long a training job holds its instances beside its training, s."""

_ALLOWANCE_S = int(_STAGES.download_s + _STAGES.upload_s)
"""How much less than its own limit, s, a job trains for which that limit, with the overhead, is what it takes."""


class LimitedDeployment(SimulatedDeployment[MemoryTable]):
    """A queue.

    Args:
        sizes: the sizes of its pools.
        settings: other members of the configuration document.

    Attributes:
        started_ms: by job, when its attempts took their instances, ms.
    """

    def __init__(self, sizes: Mapping[str, int], **settings: Any) -> None:
        pools = {pool: {"size": size} for pool, size in sizes.items()}
        super().__init__(MemoryTable(), {"pools": pools, "overheadSeconds": OVERHEAD_S - _ALLOWANCE_S, **settings})
        self.started_ms: dict[str, list[int]] = {}
        self._seen: set[str] = set()

    def submit(self, name: str, demand: Mapping[str, int], run_s: int, priority: int, **beside: Any) -> None:
        """Submit a job, or an array, whose limit is its run time.

        Args:
            demand: its instances, per pool.
            run_s: how long each attempt trains, s.
            beside: other members of the submission.
        """
        request = training_request(name, [*demand.items()], run_s=run_s, tags={"priority": str(priority)})
        request["StoppingCondition"] = {"MaxRuntimeInSeconds": run_s + _ALLOWANCE_S}
        self.container.submitter.submit(Submission(request=request, **beside), CALLER)

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`SimulatedDeployment`. What the handler prints is left out."""
        with redirect_stdout(io.StringIO()):
            return super().invoke(function, payload, remaining_ms)

    def tick(self) -> None:
        """Run a tick, and note the attempts that it has started."""
        self.wakes.clear()
        self.invoke("schedule", event("schedule"))
        for attempt in read_ledger(self.table).attempts:
            if attempt.attempt_name not in self._seen:
                self._seen.add(attempt.attempt_name)
                self.started_ms.setdefault(attempt.job_name, []).append(attempt.since_ms)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, with a tick after each end of a training job.

        Args:
            seconds: how long.
        """
        until_s = self.now_s + seconds
        while (due_s := self.fleet.next_due()) is not None and due_s <= until_s:
            self._advance(due_s)
        self.now_s = until_s

    def step(self) -> bool:
        """Advance to the next end of a training job, and run the tick after it. Returns whether there was one."""
        while (due_s := self.fleet.next_due()) is not None:
            if self._advance(due_s):
                return True
        return False

    def _advance(self, until_s: float) -> bool:
        # All that happens at one moment is taken in before anything is decided at it, as in a forecast.
        for detail in self.due_events(until_s - self.now_s):
            self.invoke("observe", {**event("observe"), "detail": detail})
        if not self.wakes:
            return False
        self.tick()
        return True
