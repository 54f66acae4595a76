"""Format the history of the configuration."""

from __future__ import annotations

from collections.abc import Iterable

from headway_client.cli.output import times
from headway_client.cli.output.table import NONE, Table
from headway_client.models import ConfigurationChange

UNKNOWN = "(not known)"
"""The author of what was edited in Parameter Store, whose caller AWS's own records name."""


def change_rows(versions: Iterable[ConfigurationChange], *, wide: bool = False) -> Table:
    """Return changes of the configuration as a table in the given order.

    Args:
        versions: the versions, each with what it changed.
        wide: also show the addresses, and all changes.
    """
    headers = ["Version", "When", "Who", *(["From"] if wide else []), "Changes", "Why"]
    return Table(headers=headers, rows=[_row(each, wide=wide) for each in versions])


def _row(each: ConfigurationChange, *, wide: bool) -> list[str]:
    row = [str(each.version), times.moment(each.time, wide=wide), each.by or UNKNOWN]
    if wide:
        row.append(each.address or NONE)
    return [*row, _changes(each, wide=wide), each.reason or NONE]


def _changes(each: ConfigurationChange, *, wide: bool) -> str:
    shown = each.changes if wide else each.changes[:1]
    left = len(each.changes) - len(shown) + each.more
    texts = [f"{change.field}: {change.message}" for change in shown]
    return "; ".join([*texts, *([f"{left} more"] if left else [])]) or NONE
