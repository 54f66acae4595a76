"""The Lambda functions of a queue: their real handlers, each invocation with a container of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from headway_sandbox.inprocess.lambda_loader import Context, load_handler
from headway_service.bootstrap.container import Container

TIMEOUT_S = {"api": 25, "schedule": 30, "observe": 30, "reconcile": 50, "patrol": 50, "watch": 50, "tell": 60}
"""The functions with their timeouts (template.yaml)."""

ENVIRONMENT = {
    "HEADWAY_TABLE": "queue",
    "HEADWAY_FIRST_CONFIGURATION": "{}",
    "HEADWAY_RETENTION_DAYS": "30",
    "HEADWAY_WAKE_QUEUE_URL": "https://sqs.invalid/wake.fifo",
    "HEADWAY_RECONCILE_AFTER_S": "120",
    "HEADWAY_REUSE_BUCKET_ARNS": "arn:aws:s3:::jobs,arn:aws:s3:::data",
    "POWERTOOLS_SERVICE_NAME": "headway",
}
"""What template.yaml would set."""


class LambdaFunctions:
    """Warm instances of the functions. Each runs one invocation at a time; a new one is loaded if all are in use."""

    def __init__(self) -> None:
        self._idle: dict[str, list[ModuleType]] = defaultdict(list)

    def invoke(
        self, function: str, payload: Mapping[str, Any], container: Container, remaining_ms: Callable[[], int]
    ) -> Any:
        """Run a handler.

        Args:
            function: its folder in ``functions/``.
            payload: the event.
            container: the service layer that it uses.
            remaining_ms: returns what the Lambda context reports.

        Returns:
            What the handler returns.

        Raises:
            Exception: whatever the handler raises. After a BaseException, a simulated kill, the instance is dropped.
        """
        idle = self._idle[function]
        module = idle.pop() if idle else load_handler(function, ENVIRONMENT)
        module.__dict__["container"] = container
        try:
            answer = module.handler(payload, Context(get_remaining_time_in_millis=remaining_ms))
        except Exception:
            idle.append(module)
            raise
        idle.append(module)
        return answer
