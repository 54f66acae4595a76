"""The part of the fake of the queue's API with the feed of events."""

from __future__ import annotations

from typing import Any

from tests.client.fakes.contract_foresight import Reply, problem

OWNER = "arn:aws:sts::123456789012:assumed-role/researcher/ada"


class Feed:
    """Events; the cursor of each is the number of events up to it.

    Attributes:
        events: the events.
        missed: whether events may have expired.
        queries: the queries that were answered.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.missed = False
        self.queries: list[dict[str, list[str]]] = []

    def record(self, name: str, code: str, **changes: Any) -> None:
        """Record an event.

        Args:
            name: of the job.
            code: of the reason.
            changes: members of the detail that differ from the defaults.
        """
        number = len(self.events) + 1
        detail = {
            "schemaVersion": "1", "id": f"{name}/{number}", "version": number, "time": "2026-01-02T03:04:05.678Z",
            "code": code, "message": f"{name} has changed", "remedy": None, "team": None, "jobName": name,
            "jobState": "pending", "previousState": None, "attemptName": None, "attemptCount": 0,
            "priority": 0, "owner": OWNER,
        } | changes  # fmt: skip
        kind = "Headway Job Change"
        if "trainingJobName" in changes:
            kind = "Headway Rogue Job Change"
            detail = {key: value for key, value in detail.items() if not key.startswith("job")}
        self.events.append({"cursor": str(number), "detailType": kind, "detail": detail})

    def answer(self, method: str, segments: list[str], query: dict[str, list[str]]) -> Reply | None:
        """Answer GET /events; None for any other call.

        Args:
            method: the method of the call.
            segments: its path.
            query: its query.
        """
        if (method, segments) != ("GET", ["events"]):
            return None
        self.queries.append(query)
        after, limit = query.get("after", ["0"])[0], int(query["limit"][0])
        if not after.isdigit():
            return problem(400, "InvalidRequest", "`after` is not a cursor: take it from an answer before")
        found = [each for each in self.events[int(after) :] if _matches(each["detail"], query)]
        page, more = found[:limit], len(found) > limit
        cursor = page[-1]["cursor"] if more else str(len(self.events))
        return 200, {"events": page, "cursor": cursor, "more": more, "missed": self.missed}


def _matches(detail: dict[str, Any], query: dict[str, list[str]]) -> bool:
    named = {"job": detail.get("jobName"), "code": detail["code"], "team": detail["team"]}
    # The time of the test's clock is years after the events, so `since` is checked by the tests of the service.
    return all(value in query.get(name, [value]) for name, value in named.items())
