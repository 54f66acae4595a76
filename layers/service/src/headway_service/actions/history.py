"""A page of what operators have done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headway_service.actions.action import ACTIONS, ActionRecord
from headway_service.errors import FieldError, InvalidRequest, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.table import Item, Table
from headway_service.validation_messages import explained

MAX_ACTIONS = 100
"""Actions of one page."""

NEXT_PATTERN = explained(
    r"^[0-9]{15}#[^\x00-\x1f]{1,200}$", "the `next` of an answer before: take it from there, or leave it out"
)
"""The pattern of the token of a page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionPage:
    """A part of the actions, the newest one first.

    Attributes:
        next: the token of the next page; None if this is the last one.
    """

    actions: Sequence[ActionRecord]
    next: str | None


def read_actions(table: Table, limit: int, after: str | None = None) -> ActionPage:
    """A page of the actions.

    Args:
        limit: the largest number.
        after: the token of the page before.

    Raises:
        InvalidRequest: the token is none.
    """
    if after is not None and re.fullmatch(NEXT_PATTERN, after) is None:
        message = "is no `next` of an answer"
        raise InvalidRequest(f"after {message}", [FieldError(field="after", message=message)])
    items = table.query(ACTIONS, after=after or "", limit=limit + 1)
    shown = items[:limit]
    return ActionPage(actions=tuple(_readable(shown)), next=shown[-1]["sk"] if len(items) > limit else None)


def _readable(items: Iterable[Item]) -> Iterator[ActionRecord]:
    for item in items:
        try:
            yield ActionRecord.parse(item)
        except UnreadableRecord as error:
            # Of a later release, perhaps. It keeps no other from being shown.
            logger.error("an action cannot be read", extra={"error": str(error)})
