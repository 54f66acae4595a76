"""Format what operators have done."""

from __future__ import annotations

from collections.abc import Iterable

from headway_client.cli.output import times
from headway_client.cli.output.table import NONE, Table
from headway_client.models import OperatorAction

UNKNOWN = "(not known)"
"""The author of what was done past the API, whose caller AWS's own records name."""


def action_rows(actions: Iterable[OperatorAction], *, wide: bool = False) -> Table:
    """Return actions as a table in the given order.

    Args:
        wide: also show the addresses.
    """
    headers = ["When", "Who", *(["From"] if wide else []), "Action", "Target", "Why"]
    return Table(headers=headers, rows=[_row(each, wide=wide) for each in actions])


def _row(each: OperatorAction, *, wide: bool) -> list[str]:
    address = [each.address or NONE] if wide else []
    when = times.moment(each.time, wide=wide)
    return [when, each.by or UNKNOWN, *address, each.action, each.target, each.reason or NONE]
