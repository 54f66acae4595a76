"""Does the work on each of several records by itself, so that one that cannot be processed stops no other.

Decision 107 has the reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger

MAX_CONFLICTS = 3
"""Conflicts about one record, or answers that the table did not give, after which one run leaves the record alone."""


class Outcome(Enum):
    """What has become of the work on one record."""

    #: It was done, and has changed something.
    CHANGED = "changed"
    #: It was done, and there was nothing to change.
    UNCHANGED = "unchanged"
    #: Somebody else has changed the record meanwhile: it has to be read again.
    CONFLICT = "conflict"
    #: It is not done in this run.
    LEFT_ALONE = "left alone"

    @property
    def is_done(self) -> bool:
        """Whether the work was done."""
        return self in {Outcome.CHANGED, Outcome.UNCHANGED}

    @property
    def reads_again(self) -> bool:
        """Whether what was read of the table before is out of date."""
        return self in {Outcome.CHANGED, Outcome.CONFLICT}


class Isolation:
    """Does the work on records in one run, and leaves alone those with which it fails.

    Args:
        note_conflict: counts a conflict.
        note_failed: notes the name of a record that is left alone, and why.
    """

    def __init__(self, *, note_conflict: Callable[[], None], note_failed: Callable[[str, Exception], None]) -> None:
        self._note_conflict = note_conflict
        self._note_failed = note_failed
        self._conflicts: Counter[tuple[str, str]] = Counter()
        self._left_alone: set[tuple[str, str]] = set()

    def do(self, what: str, name: str, work: Callable[[], bool]) -> Outcome:
        """Do the work on one record, unless it is left alone by now.

        Args:
            what: the kind of work, for the log.
            name: the record.
            work: does it. Returns whether it has changed anything.
        """
        if self.is_left_alone(what, name):
            return Outcome.LEFT_ALONE
        try:
            return Outcome.CHANGED if work() else Outcome.UNCHANGED
        except (Conflict, RetryLater) as error:
            return self.conflicted(what, name, error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this record, the others are processed
            self.leave_alone(what, name, error)
            return Outcome.LEFT_ALONE

    def is_left_alone(self, what: str, name: str) -> bool:
        """Whether no further work is done on a record in this run.

        Args:
            what: the kind of work.
            name: the record.
        """
        return (what, name) in self._left_alone

    def left_alone(self, what: str) -> frozenset[str]:
        """The records on which no further work of a kind is done in this run."""
        return frozenset(name for of, name in self._left_alone if of == what)

    def leave_alone(self, what: str, name: str, error: Exception) -> None:
        """Do no further work on a record in this run, and report it.

        Args:
            what: the kind of work.
            name: the record.
            error: why.
        """
        if self.is_left_alone(what, name):
            return
        self._left_alone.add((what, name))
        self._note_failed(name, error)
        logger.error("a record is left alone", extra={"what": what, "record": name}, exc_info=error)

    def conflicted(self, what: str, name: str, error: Exception, *, most: int = MAX_CONFLICTS) -> Outcome:
        """Count a conflict about a record.

        Args:
            what: the kind of work.
            name: the record.
            error: the conflict.
            most: with so many, the record is left alone.
        """
        self._note_conflict()
        self._conflicts[what, name] += 1
        if self._conflicts[what, name] < most:
            logger.info("it was changed meanwhile", extra={"what": what, "record": name, "error": str(error)})
            return Outcome.CONFLICT
        self.leave_alone(what, name, error)
        return Outcome.LEFT_ALONE
