"""Invokes the queue's functions over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_sandbox.local.sandbox import Sandbox

API, SCHEDULE, OBSERVE, RECONCILE = "ApiFunction", "ScheduleFunction", "ObserveFunction", "ReconcileFunction"
PATROL, WATCH, TELL = "PatrolFunction", "WatchFunction", "TellFunction"


class Functions:
    """The functions of a sandbox, by what their names contain."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._lambda = sandbox.client("lambda")
        pages = self._lambda.get_paginator("list_functions").paginate()
        self._names = [entry["FunctionName"] for page in pages for entry in page["Functions"]]

    def begin(self, function: str, event: Mapping[str, Any] | None = None) -> None:
        """Invoke a function and wait for nothing, as EventBridge does: Lambda tries again if it is killed."""
        answer = self._lambda.invoke(
            FunctionName=self._name(function), InvocationType="Event", Payload=json.dumps(event or {}).encode()
        )
        # The body is empty, but the connection returns to the pool only after it was read.
        answer["Payload"].read()

    def limit(self, function: str, *, timeout_s: int) -> None:
        """Set how long a function may run."""
        self._lambda.update_function_configuration(FunctionName=self._name(function), Timeout=timeout_s)

    def _name(self, function: str) -> str:
        (name,) = [name for name in self._names if function in name]
        return str(name)
