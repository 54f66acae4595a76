"""The jobs of a plan, read ahead of its actions."""

from __future__ import annotations

from collections.abc import Sequence

from headway.plan import Action, Release
from headway_service.ports.table import Item, Table
from headway_service.store.repository import find_job_items

READ_AHEAD = 8
"""Jobs that one call reads. The longer ago a job was read, the more likely its action conflicts with a change since."""


class PlannedJobs:
    """Reads the jobs of a plan, several with one call.

    Each job that was read is given out once: an action that returns to the same job may have changed it.

    Args:
        actions: the actions, in their order. A release needs no job.
    """

    def __init__(self, table: Table, actions: Sequence[Action]) -> None:
        self._table = table
        self._names = [each.job for each in actions if not isinstance(each, Release)]
        self._next = 0
        self._read: dict[str, Item | None] = {}

    def next_for(self, action: Action) -> Item | None:
        """The job of the next action, or of a later one if actions are skipped, as it is stored; None if it is not.

        Args:
            action: the action. A release needs no job.
        """
        if isinstance(action, Release):
            return None
        name = action.job
        if name not in self._read:
            first = self._names.index(name, self._next)
            ahead = tuple(dict.fromkeys(self._names[first : first + READ_AHEAD]))
            self._read = dict.fromkeys(ahead) | find_job_items(self._table, ahead)
            self._next = first + 1
        return self._read.pop(name)
