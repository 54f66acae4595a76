"""The calls of the API that the board's pages may cause: an allow-list, with a cache and the budget of the board."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Protocol

from headway_client.board.budget import CallBudget
from headway_client.board.changes import CHANGES, MAX_PRIORITY, JobActions
from headway_client.board.job_page.reader import FigureReader
from headway_client.board.poller import Queue
from headway_client.board.web.access import Refused
from headway_client.board.web.past import PastApi
from headway_client.errors import ClientError
from headway_client.models import ArrayMember, Explanation, Job, JobDetails

KEPT_S = 20.0
"""For how long the response to a read is given again, to all tabs. An open page asks all the time, and leaves room for
others; a page that is opened again costs nothing."""

MAX_KEPT = 200
"""Responses that are kept, the newest."""

LISTED = 100
"""Jobs in a list: one page of the API."""

_NAME = re.compile(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,62}(_[0-9]{1,4})?")
_FILTERS = {"state", "team", "nameContains"}


class BoardApi(Queue, JobActions, PastApi, Protocol):
    """The part of `headway_client.http.api.HeadwayApi` that the board calls."""

    def list_jobs(
        self,
        *,
        states: Any = (),
        limit: int | None = None,
        team: str | None = None,
        name_contains: str | None = None,
    ) -> Iterator[Job]:
        """Yield jobs."""

    def get_job(self, name: str) -> JobDetails:
        """Return a job."""

    def explain(self, name: str) -> Explanation:
        """Return why a job is in its state."""

    def members(self, array: str, *, limit: int | None = None) -> Iterator[ArrayMember]:
        """Yield the members of an array."""


@dataclass(frozen=True, kw_only=True)
class _Kept:
    read_s: float
    document: Any


class Calls:
    """Makes the calls.

    Args:
        api: the queue.
        budget: limits the reads.
        figures: reads the figures of jobs that are not the queue's.
        clock: seconds that only increase.
    """

    def __init__(
        self,
        api: BoardApi,
        budget: CallBudget,
        *,
        figures: FigureReader,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._figures = figures
        self._budget = budget
        self._clock = clock
        self._kept: dict[tuple[str, ...], _Kept] = {}
        self._lock = threading.Lock()

    def read(self, segments: list[str], query: Mapping[str, list[str]]) -> Any:
        """Return the document of a read.

        Args:
            segments: of the path below ``/api``.
            query: of the URL.

        Raises:
            Refused: the pages have no such read, or the budget has no room for it, and the error says when it has.
            ClientError: the queue has refused it, or was not reached.
        """
        match segments:
            case ["jobs", name, "figures"] if _is_name(name) and not query:
                # Without the lock: other pages do not wait for CloudWatch.
                job = JobDetails.from_document(self._read(["jobs", name], {}))
                return asdict(self._figures.read(job))
            case _:
                return self._read(segments, query)

    def _read(self, segments: list[str], query: Mapping[str, list[str]]) -> Any:
        call = self._reader(segments, query)
        key = (*segments, *(f"{name}={value}" for name in sorted(query) for value in query[name]))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and self._clock() - kept.read_s < KEPT_S:
                return kept.document
            if not self._budget.spend():
                if kept is not None:
                    return kept.document
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, self._budget.refusal(), retry_after_s=self._budget.wait_s())
            document = call()
            self._kept.pop(key, None)
            self._kept[key] = _Kept(read_s=self._clock(), document=document)
            while len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            return document

    def _reader(self, segments: list[str], query: Mapping[str, list[str]]) -> Callable[[], Any]:
        match segments:
            case ["jobs"] if set(query) <= _FILTERS:
                return lambda: {"jobs": [job.document for job in self._jobs(query)], "limit": LISTED}
            case ["jobs", name] if _is_name(name) and not query:
                return lambda: self._api.get_job(name).document
            case ["jobs", name, "explanation"] if _is_name(name) and not query:
                return lambda: self._api.explain(name).document
            case ["jobs", name, "members"] if _is_name(name) and not query:
                return lambda: {"members": [each.document for each in self._api.members(name, limit=LISTED)]}
            case _:
                raise Refused(HTTPStatus.NOT_FOUND, "The board has no such page.")

    def _jobs(self, query: Mapping[str, list[str]]) -> Iterator[Job]:
        return self._api.list_jobs(
            states=query.get("state", ()),
            limit=LISTED,
            team=query.get("team", [None])[0],
            name_contains=query.get("nameContains", [None])[0],
        )

    def change(self, segments: list[str], body: Any) -> Any:
        """Make a change, and return the document of the job.

        Args:
            segments: of the path below ``/api``.
            body: the decoded body; None without one.

        Raises:
            Refused: the pages have no such change.
            ClientError: the queue has refused it, or was not reached.
        """
        match segments:
            case ["jobs", name, action] if _is_name(name) and action in CHANGES and body is None:
                job = CHANGES[action].make(self._api, name)
            case ["jobs", name, "priority"] if _is_name(name) and _is_priority(body):
                job = self._api.set_priority(name, body["priority"])
            case _:
                raise Refused(HTTPStatus.NOT_FOUND, "The board has no such change.")
        with self._lock:
            self._kept.clear()
        return job.document


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _is_priority(body: Any) -> bool:
    if not isinstance(body, dict) or set(body) != {"priority"}:
        return False
    priority = body["priority"]
    return type(priority) is int and 0 <= priority <= MAX_PRIORITY


def status_of(error: ClientError) -> HTTPStatus:
    """Return the status with which an error of the queue is passed on to the pages."""
    if error.status in {400, 403, 404, 409, 429}:
        return HTTPStatus(error.status)
    return HTTPStatus.BAD_GATEWAY
