"""A moment, as an option names it: a day, a time, or how long before or after now it is."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.params import Duration

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

Given = timedelta | datetime
"""How long before or after now, in the queue's time, or a time."""

METAVAR = "TIME"

_DAY_OR_TIME = r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d))?"


class Moment(click.ParamType[Given]):
    """A UTC day such as 2026-11-25, a time such as 2026-11-25T08:00Z, or a duration before now such as 36h or 7d.

    Args:
        to_come: whether a duration is one after now.
    """

    name = "moment"

    def __init__(self, *, to_come: bool = False) -> None:
        self._side = "after" if to_come else "before"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Given:
        """Return how far from now it is, or the time; a day is its first moment."""
        if isinstance(value, timedelta | datetime):
            return value
        text = str(value)
        if re.fullmatch(_DAY_OR_TIME, text, re.ASCII):
            try:
                at = datetime.fromisoformat(text)
                return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                self.fail(f"there is no time {text!r}", param, ctx)
        try:
            return timedelta(seconds=Duration().convert(text, None, None))
        except (click.BadParameter, OverflowError):
            self.fail(
                f"{text!r} is neither a UTC day such as 2026-11-25, nor a time with its zone such as "
                f"2026-11-25T08:00Z, nor a duration {self._side} now such as 36h or 7d",
                param,
                ctx,
            )


def time_text(api: HeadwayApi, given: Given, *, to_come: bool = False) -> str:
    """Return a moment as the API takes it.

    Args:
        api: the queue, by whose time durations are counted.
        given: the moment.
        to_come: whether a duration is one after now.
    """
    if isinstance(given, timedelta):
        given = _now(api) + (given if to_come else -given)
    return given.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def today(api: HeadwayApi) -> date:
    """Return the UTC day of the queue's time."""
    return _now(api).date()


def _now(api: HeadwayApi) -> datetime:
    if api.server_version is None:
        # The first response has the queue's time, which a sandbox lets pass faster.
        api.version()
    return datetime.fromtimestamp(api.now_s(), UTC)
