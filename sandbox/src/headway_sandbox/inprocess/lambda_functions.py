"""The functions of a queue: their real handlers, over the edges of the world that each invocation is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from random import Random
from types import ModuleType
from typing import Any

from headway_sandbox.inprocess.lambda_loader import Context, load_handler
from headway_service.bootstrap import Services
from headway_service.ports.alarms import Alarms
from headway_service.ports.config_store import ConfigurationStore
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.scheduling.executor import TickReport
from headway_service.settings import Settings

TIMEOUT_S = {"api": 25, "schedule": 30, "observe": 30, "reconcile": 50, "patrol": 50, "watch": 50, "tell": 60}
"""The functions with their timeouts (template.yaml)."""

ENVIRONMENT = {
    "HEADWAY_TABLE": "queue",
    "HEADWAY_CONFIG_PARAMETER": "/headway/config",
    "HEADWAY_RETENTION_DAYS": "30",
    "HEADWAY_WAKE_QUEUE_URL": "https://sqs.invalid/wake.fifo",
    "HEADWAY_RECONCILE_AFTER_S": "120",
    "POWERTOOLS_SERVICE_NAME": "headway",
}
"""What template.yaml would set."""


class SoakServices(Services):
    """The service layer over the edges of one queue.

    Args:
        table, training_jobs, alarms, store, sqs, events, sns: the edges.
        clock: now, ms, by the clock of whoever asks.
        random: decides names and marks.
        pause: waits, s.
        failed: is told what a tick failed with, as its handler keeps that to the log.
    """

    def __init__(
        self,
        *,
        table: Table,
        training_jobs: AllTrainingJobs,
        alarms: Alarms,
        store: ConfigurationStore,
        sqs: Any,
        events: Any,
        sns: Any,
        clock: Callable[[], int],
        random: Random,
        pause: Callable[[float], None],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(Settings.of(ENVIRONMENT), clock=clock, random=random)
        # What is made when it is first needed is there already.
        vars(self).update(table=table, training_jobs=training_jobs, alarms=alarms, store=store, _sqs=sqs)
        vars(self).update(_event_bridge=events, _sns=sns)
        self._pause = pause
        self._failed = failed

    def pause(self, seconds: float) -> None:
        """See :class:`headway_service.bootstrap.Services`."""
        self._pause(seconds)

    def tick(self, remaining_ms: int) -> TickReport:
        """See :class:`headway_service.bootstrap.Services`."""
        try:
            return super().tick(remaining_ms)
        except Exception as error:
            self._failed(error)
            raise


class Functions:
    """Warm instances of the functions: each runs one invocation at a time, and the next one after it.

    They are kept for all queues of this process, as they take long to load.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[ModuleType]] = defaultdict(list)

    def invoke(self, function: str, payload: Mapping[str, Any], services: Services, remaining_ms: int) -> Any:
        """Run a handler. An instance that is killed in it is not used again."""
        idle = self._idle[function]
        module = idle.pop() if idle else load_handler(function, ENVIRONMENT)
        module.__dict__["services"] = services
        try:
            answer = module.handler(payload, Context(get_remaining_time_in_millis=lambda: remaining_ms))
        except Exception:
            idle.append(module)
            raise
        idle.append(module)
        return answer
