"""What does not work around the functions of a queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headway_service.errors import RetryLater
from headway_service.ports.table import Table

READS = frozenset({"get", "get_all", "query", "last_before", "tail", "tally", "listing", "scan"})
"""The calls of the table that read."""


class Crashed(Exception):
    """A function was ended by its runtime, such as for lack of memory."""


@dataclass(kw_only=True, slots=True)
class Outages:
    """What does not work now. Each may be changed at any time.

    Attributes:
        disabled: rules and mappings that are disabled: the names of the functions that they invoke.
        crashing: functions that crash.
        throttled: functions whose invocations Lambda throttles.
        without_logs: functions whose log group is gone.
        table: what the table answers in place of its own answer: ``throttles`` or ``fails``; empty: its own.
        api_error: raised by the table in calls of the API; None for none.
        api_call_s: how long the table takes for each call of the API beside, s.
        refuses_callers: the status with which API Gateway answers all calls; 0 if it passes them on.
        sagemaker: the operations of SageMaker that are denied.
        alarms: whether CloudWatch refuses to make alarms.
        bus: whether the event bus takes nothing.
    """

    disabled: set[str] = field(default_factory=set)
    crashing: set[str] = field(default_factory=set)
    throttled: set[str] = field(default_factory=set)
    without_logs: set[str] = field(default_factory=set)
    table: str = ""
    api_error: Exception | None = None
    api_call_s: float = 0.0
    refuses_callers: int = 0
    sagemaker: set[str] = field(default_factory=set)
    alarms: bool = False
    bus: bool = False


class AnsweringTable:
    """A table as the functions reach it.

    Args:
        before: called before each call with the name of the method; it may raise.
    """

    def __init__(self, table: Table, before: Callable[[str], None]) -> None:
        self._table = table
        self._before = before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)

        def call(*args: Any, **terms: Any) -> Any:
            self._before(name)
            return method(*args, **terms)

        return call


def unavailable(outages: Outages) -> RetryLater:
    """The error of the adapter when DynamoDB does not answer."""
    return RetryLater(f"the table {outages.table}; try again in a moment")
