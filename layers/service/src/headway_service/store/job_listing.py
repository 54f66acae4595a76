"""Lists jobs, page by page."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from headway.lifecycle import ACTIVE, TERMINAL, WAITING, JobState
from headway_service.errors import InvalidRequest
from headway_service.ports.table import ListingPage, Table, position_of
from headway_service.store.active_jobs import ActiveJobs
from headway_service.store.job_filter import JobFilter
from headway_service.store.records.listed_job import ListedJob

MAX_LISTED = 500
"""Jobs in one page: about half of what one answer of DynamoDB holds (1 MB). Each page reads the queues and explains
their fronts, whatever its size, so a long listing is quicker in few pages."""

_MAX_READS = 10
"""Most queries for one page, where a filter rejects most jobs."""

_FILTERED_READ = 500
"""Jobs that one query reads where a filter rejects some: about as many as one answer of DynamoDB holds (1 MB)."""

_LISTINGS: Mapping[str, frozenset[JobState]] = {"holding": ACTIVE, "waiting": WAITING, "ended": TERMINAL}

_Position = tuple[str, Mapping[str, str] | None]
"""A listing, and the key of the job after which it continues."""


def list_jobs(table: Table, wanted: JobFilter, limit: int, token: str | None) -> tuple[list[ListedJob], str | None]:
    """A page of jobs, eventually consistent.

    Jobs that hold instances come first, then waiting jobs in rank order, then ended jobs, newest first.

    Args:
        wanted: which jobs.
        limit: most jobs in the page. A page may hold fewer, even none, and have a next page.
        token: where to continue, from the page before.

    Returns:
        The jobs, and the token of the next page, or None at the end.

    Raises:
        InvalidRequest: the token is not valid, or belongs to a listing with another filter.
    """
    order = [name for name, members in _LISTINGS.items() if members & wanted.states]
    position: _Position | None = (order[0], None)
    if token:
        position, digest = _parse(token)
        if position[0] not in order or digest != wanted.digest():
            raise InvalidRequest("nextToken belongs to another listing: pass the same states and filters as before")
    where = wanted.conditions()
    active = ActiveJobs(table)
    found: list[ListedJob] = []
    for _ in range(_MAX_READS):
        lacking = limit - len(found)
        if position is None or not lacking:
            break
        name, after = position
        read = max(lacking, _FILTERED_READ) if len(where) > 1 else lacking
        page: ListingPage
        if name == "holding":
            page = active.page(wanted, after, read)
        else:
            page = table.listing(name, where=where, after=after, limit=read, descending=name == "ended")
        found += [ListedJob.parse(item) for item in page.items[:lacking]]
        later = order[order.index(name) + 1 :]
        if len(page.items) > lacking:
            position = (name, position_of(page.items[lacking - 1]))
        else:
            position = (name, page.after) if page.after is not None else ((later[0], None) if later else None)
    return found, _token(position, wanted) if position else None


def list_ended(
    table: Table, wanted: JobFilter, since_ms: int, until_ms: int, limit: int, token: str | None
) -> tuple[list[ListedJob], str | None]:
    """A page of the jobs that have ended in a span, the newest first, eventually consistent.

    Only this span of the listing is read, however many jobs are kept.

    Args:
        wanted: which jobs; their states are terminal.
        since_ms: when the span begins, ms.
        until_ms: when it ends, ms; a job that ended then is not in it.
        limit: most jobs in the page. A page may hold fewer, even none, and have a next page.
        token: where to continue, from the page before.

    Returns:
        The jobs, and the token of the next page, or None at the end.

    Raises:
        InvalidRequest: the token is not valid, or belongs to another listing.
    """
    digest = f"{wanted.digest()}-{since_ms}-{until_ms}"
    # No job has this key; all that ended earlier come after it.
    after: Mapping[str, str] | None = {"listingKey": f"{max(0, until_ms):013d}#", "pk": "job#"}
    if token:
        (name, after), other = _parse(token)
        if (name, other) != ("ended", digest):
            raise InvalidRequest("nextToken belongs to another listing: pass the same times and filters as before")
    found: list[ListedJob] = []
    for _ in range(_MAX_READS):
        lacking = limit - len(found)
        if after is None or not lacking:
            break
        where = wanted.conditions()
        read = max(lacking, _FILTERED_READ) if len(where) > 1 else lacking
        page = table.listing("ended", where=where, after=after, limit=read, descending=True)
        found += [ListedJob.parse(item) for item in page.items[:lacking]]
        after = position_of(page.items[lacking - 1]) if len(page.items) > lacking else page.after
        earliest = f"{max(0, since_ms):013d}"
        if after is not None and after["listingKey"] < earliest:
            after = None
    kept = [job for job in found if (job.ended_ms or 0) >= since_ms]
    return kept, _token(("ended", after), wanted, digest) if after is not None and len(kept) == len(found) else None


def _token(position: _Position, wanted: JobFilter, digest: str = "") -> str:
    return base64.urlsafe_b64encode(json.dumps([*position, digest or wanted.digest()]).encode()).decode()


def _parse(token: str) -> tuple[_Position, str]:
    try:
        name, after, digest = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        name, after, digest = None, None, None
    placed = after is None or (
        isinstance(after, dict)
        and {*after} == {"listingKey", "pk"}
        and all(isinstance(value, str) and value for value in after.values())
    )
    if isinstance(name, str) and isinstance(digest, str) and placed:
        return (name, after), digest
    raise InvalidRequest("nextToken is not valid: take it from the answer before, or leave it out")
