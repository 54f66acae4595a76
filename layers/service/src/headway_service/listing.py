"""Lists jobs, page by page."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping

from headway.lifecycle import HOLDING, TERMINAL, WAITING, JobState
from headway_service.errors import InvalidRequest
from headway_service.ports import Table
from headway_service.records import JobRecord

MAX_LISTED = 100
"""Jobs in one page."""

_MAX_READS = 10
"""Queries that one page may take, when a filter passes over most jobs."""

_LISTINGS: Mapping[str, frozenset[JobState]] = {"holding": HOLDING, "waiting": WAITING, "ended": TERMINAL}


def list_jobs(
    table: Table, states: Collection[JobState], limit: int, token: str | None
) -> tuple[list[JobRecord], str | None]:
    """A page of the jobs in these states, eventually consistent.

    Those that hold instances come first, then the waiting ones in rank order, then the ended, newest first.

    Args:
        table: the table.
        states: at least one state.
        limit: at most so many jobs. A page may hold fewer and still have a successor.
        token: where to go on, from the page before.

    Returns:
        The jobs, and the token of the next page, or None at the end.

    Raises:
        InvalidRequest: the token is none of ours, or of a listing of other states.
    """
    order = [name for name, members in _LISTINGS.items() if members & set(states)]
    position: tuple[str, Mapping[str, str] | None] | None = _parse(token) if token else (order[0], None)
    found: list[JobRecord] = []
    for _ in range(_MAX_READS):
        if position is None or len(found) >= limit:
            break
        name, after = position
        if name not in order:
            raise InvalidRequest("nextToken belongs to another listing: pass the same states as before")
        page = table.listing(name, states=states, after=after, limit=limit - len(found), descending=name == "ended")
        found += [JobRecord.parse(item) for item in page.items]
        later = order[order.index(name) + 1 :]
        position = (name, page.after) if page.after is not None else ((later[0], None) if later else None)
    return found, _token(*position) if position else None


def _token(name: str, after: Mapping[str, str] | None) -> str:
    return base64.urlsafe_b64encode(json.dumps([name, after]).encode()).decode()


def _parse(token: str) -> tuple[str, Mapping[str, str] | None]:
    try:
        name, after = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError):
        name, after = None, None
    keys = {*after} if isinstance(after, dict) else None
    texts = isinstance(after, dict) and all(isinstance(value, str) and value for value in after.values())
    if name in _LISTINGS and (after is None or (keys == {"listingKey", "pk"} and texts)):
        return name, after
    raise InvalidRequest("nextToken is not valid: take it from the answer before, or leave it out")
