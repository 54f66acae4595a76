"""The wake-up, dead letters, and the ways to the event bus and the topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Wake = Callable[[str], None]
"""Requests a tick, with a reason for the log. Repeating it is harmless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A message of a dead-letter queue, as it was received."""

    message_id: str
    #: The handle for removing or returning it.
    receipt: str
    body: str
    #: The message's attributes that are text, such as EventBridge's ``ERROR_CODE``.
    attributes: Mapping[str, str]
    sent_ms: int
    #: How often it was received, including for display.
    receive_count: int


class DeadLetterQueue(Protocol):
    """One dead-letter queue."""

    def receive(self, most: int) -> Sequence[DeadLetter]:
        """Letters to process, invisible to other receivers meanwhile; none if there are no more.

        Args:
            most: no more than this; there may be fewer, and the next call gives further ones.
        """

    def remove(self, letter: DeadLetter) -> None:
        """Remove a letter that was taken."""

    def give_back(self, letters: Sequence[DeadLetter]) -> None:
        """Make these visible again at once. Others become visible again after their timeout."""

    def count(self) -> int:
        """How many letters there are, taken ones too: roughly, and as of a moment ago."""


class RedriveTargets(Protocol):
    """The targets of dead letters. Each call may raise :class:`headway_service.errors.NotHandedOver`."""

    def observe(self, event: Mapping[str, Any]) -> None:
        """Hand an event to the observer, as if it had just come. What becomes of it is not waited for."""

    def wake(self, why: str) -> None:
        """Ask for a tick, as :data:`Wake` does."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """What became of the things that were sent, by their indexes: those that are not named here were taken."""

    #: May be taken if they are sent once more.
    again: frozenset[int] = frozenset()
    #: Will never be taken.
    refused: frozenset[int] = frozenset()


_T_contra = TypeVar("_T_contra", contravariant=True)


class EventSink(Protocol[_T_contra]):
    """A target of job events."""

    def send(self, items: Sequence[_T_contra]) -> SendResult:
        """Send up to ten, which is as many as EventBridge and SNS take at once (service quotas).

        Raises:
            RetryLater: none may have been taken, and all may be sent again.
        """
