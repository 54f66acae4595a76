"""The queue's functions as an event source invokes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_sandbox.local.sandbox import Sandbox

API, SCHEDULE, OBSERVE, RECONCILE = "ApiFunction", "ScheduleFunction", "ObserveFunction", "ReconcileFunction"
PATROL, WATCH, TELL = "PatrolFunction", "WatchFunction", "TellFunction"


class Functions:
    """The functions of a sandbox, by a part of their names."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._lambda = sandbox.client("lambda")
        pages = self._lambda.get_paginator("list_functions").paginate()
        self._names = [entry["FunctionName"] for page in pages for entry in page["Functions"]]

    def begin(self, function: str, event: Mapping[str, Any] | None = None) -> None:
        """Invoke a function asynchronously, as EventBridge does: Lambda retries if it is killed.

        Args:
            function: a part of its name.
            event: the event; None for an empty one.
        """
        answer = self._lambda.invoke(
            FunctionName=self._name(function), InvocationType="Event", Payload=json.dumps(event or {}).encode()
        )
        # The payload is empty, but the connection is only reused once it has been read.
        answer["Payload"].read()

    def limit(self, function: str, *, timeout_s: int) -> None:
        """Set the timeout of a function.

        Args:
            function: a part of its name.
        """
        self._lambda.update_function_configuration(FunctionName=self._name(function), Timeout=timeout_s)

    def _name(self, function: str) -> str:
        (name,) = [name for name in self._names if function in name]
        return str(name)
