"""The alarms on the use of instances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from headway.jobpolicy.utilization import Alarm


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenAlarm:
    """An alarm of the queue's as it is there."""

    name: str
    #: The metric that it evaluates; None if the queue does not use it.
    alarm: Alarm | None
    firing: bool


class Alarms(Protocol):
    """The alarms on running jobs. Every method may raise :class:`headway_service.errors.RetryLater`."""

    def put(self, alarm: Alarm) -> None:
        """Make an alarm, or change the one for the same host and watch.

        Raises:
            AlarmRefused: CloudWatch does not take the alarm as it is.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Remove alarms. Those that do not exist are no error."""

    def seen(self, attempt: str | None = None) -> tuple[SeenAlarm, ...]:
        """The queue's alarms with their states now; with ``attempt`` only those on that."""

    def attempt_of(self, name: str) -> str | None:
        """The attempt that an alarm of this name is for; None if it is none of the queue's."""
