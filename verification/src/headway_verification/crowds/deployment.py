"""A queue on virtual time that users fill through the API, or with copies of what they have made through it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_functions import TIMEOUT_S
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.sagemaker.request_builder import training_request
from headway_service.launching.report import TickReport
from headway_service.ports.table import Put
from headway_verification.crowds.slow_table import SlowTable

POOL = "ml.g5.xlarge"
MANY = 10_000
"""Instances of the pool, and the largest limits that a configuration may set."""

_DOCUMENT = {
    "pools": {POOL: {"size": MANY}},
    "limits": dict.fromkeys(("waitingPerTeam", "waitingPerOwner", "arraysPerTeam", "arraysPerOwner"), MANY),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """One tick.

    Attributes:
        decisions: how many decisions it has made.
        is_served: whether it has started the job that was submitted before it.
        calls: its reads and writes of the table.
        took_s: virtual time, s.
        own_s: processor time of this machine, s, with the table in memory.
    """

    decisions: int
    is_served: bool
    calls: int
    took_s: float
    own_s: float


class CrowdedDeployment(SimulatedDeployment[SlowTable]):
    """A queue with room for many.

    Args:
        limits: those of the configuration; None for the largest.
    """

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        document = _DOCUMENT if limits is None else {**_DOCUMENT, "limits": limits}
        super().__init__(SlowTable(self._pass_time), document)
        self._report = TickReport()
        self._urgent = 0

    def submit(self, name: str, **beside: Any) -> tuple[int, Any]:
        """Submit a job of an instance.

        Args:
            beside: what comes with its request.
        """
        request = training_request(name, [(POOL, 1)], run_s=600)
        return self.call_api("POST", "/add-job", {"jobName": name, "jobDetails": request, **beside})

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        """See :class:`SimulatedDeployment`. What the handler prints is left out."""
        with redirect_stdout(io.StringIO()):
            return super().invoke(function, payload, remaining_ms)

    def copy(self, name: str, copies: Iterable[str]) -> None:
        """Add copies of a job, as further submissions and commands would have made them.

        Args:
            name: the job. No attribute of its items may have that name.
            copies: the names of the copies.
        """
        kept = [dict(each) for each in self.table.items() if name in json.dumps([each["pk"], each["sk"]])]
        text = json.dumps(kept)
        for copy in copies:
            for item in json.loads(text.replace(name, copy)):
                self.table.write([Put(item=item)])

    def minute(self) -> Tick:
        """Submit a job that nothing keeps from starting, and run the tick of the next minute."""
        name = f"urgent-{self._urgent}"
        self._urgent += 1
        self.submit(name)
        self.now_s = self.now_s // 60 * 60 + 60
        self.table.is_slow, self.table.calls, self._report = True, 0, TickReport()
        began_s, began_own_s = self.now_s, time.process_time()
        self.invoke("schedule", event("schedule"), TIMEOUT_S["schedule"] * 1000)
        self.table.is_slow = False
        return Tick(
            decisions=self._report.decisions,
            is_served=name in self._report.started,
            calls=self.table.calls,
            took_s=self.now_s - began_s,
            own_s=time.process_time() - began_own_s,
        )

    def tick_ended(self, report: TickReport) -> None:
        """See :class:`SimulatedDeployment`."""
        self._report = report

    def _pass_time(self, seconds: float) -> None:
        self.now_s += seconds
