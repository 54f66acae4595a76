"""Summaries for tests, and a queue that gives them."""

from __future__ import annotations

from typing import Any

from headway_client.errors import ClientError
from headway_client.models import Forecast, Summary
from tests.client.fakes.contract import Queue as ContractQueue
from tests.client.fakes.contract_summary import summary as document_of

NOW_S = 1_767_335_400.0
"""2026-01-02T06:30:00Z: the time of the contract's queue."""


def contract() -> ContractQueue:
    """A queue with a running and two waiting jobs."""
    queue = ContractQueue()
    queue.add("trains", jobState="running", priority=9, team="vision")
    queue.add("first", priority=5, team="vision")
    queue.add("second", priority=3, team="search")
    return queue


def summary_of(queue: ContractQueue) -> Summary:
    return Summary.from_document(document_of(queue))


class ScriptedQueue:
    """A queue in memory that counts calls, and fails if it is told to."""

    def __init__(self, queue: ContractQueue | None = None) -> None:
        self.queue = queue or contract()
        self.calls: list[str] = []
        self.error: ClientError | None = None
        self.time_s = NOW_S

    def summary(self, known: str | None = None) -> Summary | None:
        self.calls.append("summary")
        if self.error is not None:
            raise self.error
        found = summary_of(self.queue)
        return None if found.version == known else found

    def forecast(self) -> Forecast:
        self.calls.append("forecast")
        if self.error is not None:
            raise self.error
        document: dict[str, Any] = {
            "asOf": "2026-01-02T06:30:00.000Z", "until": None, "note": "", "jobs": [], "more": False,
        }  # fmt: skip
        return Forecast.from_document(document)

    def now_s(self) -> float:
        return self.time_s
