"""Shows the messages in the dead-letter queues, and delivers them again.

SQS's own redrive (StartMessageMoveTask) cannot do this: it moves messages back to the queue that they came from, and
events came from none (source: its API reference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.api_documents.dead_letters import LetterQueue
from headway_service.dead_letters.parser import Content, Illegible, Lost, Observe, Tick, content_of
from headway_service.errors import NotDelivered
from headway_service.observability.logging import logger
from headway_service.ports.messaging import DeadLetter, DeadLetterQueue, RedriveTargets

MAX_SHOWN = 50
"""Dead events shown in one answer."""

MAX_SHOWN_WAKES = 10
"""Dead wake-ups shown in one answer: a FIFO queue returns at most ten in-flight messages of one message group."""

MAX_REDRIVEN = 200
"""Letters that one redrive takes from each queue."""

REDRIVE_MS = 10_000
"""How long a redrive receives letters, ms; the API function may run for 25 s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLetter:
    """A dead letter that was read."""

    queue: LetterQueue
    letter: DeadLetter
    content: Content


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A letter that could not be delivered, and why. It stays in its queue."""

    read: ReadLetter
    problem: str


@dataclass(kw_only=True, slots=True)
class Redrive:
    """The result of a redrive, in letters."""

    #: Delivered and removed.
    redriven: int = 0
    #: Removed without delivery: the tick that it requests was requested already, or it cannot be repaired.
    dropped: int = 0
    failures: list[Failure] = field(default_factory=list)
    #: Still in the queues; approximate if the redrive ended before the queues were empty.
    left: int = 0
    tick_asked_for: bool = False


class DeadLetters:
    """The letters in both dead-letter queues.

    Args:
        queues: both queues.
        recipients: where the letters are delivered.
        clock: now, ms.
    """

    def __init__(
        self, queues: Mapping[LetterQueue, DeadLetterQueue], recipients: RedriveTargets, clock: Callable[[], int]
    ) -> None:
        self._queues = queues
        self._recipients = recipients
        self._clock = clock

    def show(self) -> tuple[Sequence[ReadLetter], bool]:
        """The letters, and whether there may be more. They stay in their queues."""
        shown: list[ReadLetter] = []
        more = False
        for queue, most in ((LetterQueue.EVENT, MAX_SHOWN), (LetterQueue.WAKE, MAX_SHOWN_WAKES)):
            letters = _look(self._queues[queue], most)
            shown += [_read(queue, letter) for letter in letters]
            more = more or len(letters) == most
        return shown, more

    def redrive(self) -> Redrive:
        """Deliver the letters. Each is removed once that has succeeded; failures stay.

        An event that fails again becomes a new letter; the redrive does not wait for it. If this call is interrupted,
        some letters are delivered again, which changes nothing.
        """
        done = Redrive()
        deadline_ms = self._clock() + REDRIVE_MS
        for queue in LetterQueue:
            done.left += self._redrive_queue(queue, done, deadline_ms)
        logger.info(
            "dead letters redriven",
            extra={
                "redriven": done.redriven,
                "dropped": done.dropped,
                "failed": len(done.failures),
                "left": done.left,
            },
        )
        return done

    def _redrive_queue(self, queue: LetterQueue, done: Redrive, deadline_ms: int) -> int:
        """Redrive one queue. Returns how many letters are left in it."""
        letters = self._queues[queue]
        taken = 0
        kept: list[DeadLetter] = []
        try:
            while taken < MAX_REDRIVEN and self._clock() < deadline_ms:
                batch = letters.receive(MAX_REDRIVEN - taken)
                if not batch:
                    return len(kept)
                taken += len(batch)
                for letter in batch:
                    if self._clock() < deadline_ms and self._hand_over(_read(queue, letter), done):
                        letters.remove(letter)
                    else:
                        kept.append(letter)
        finally:
            # Only at the end: if failures were returned at once, they would be received again and again.
            letters.give_back(kept)
        return max(len(kept), letters.count())

    def _hand_over(self, read: ReadLetter, done: Redrive) -> bool:
        """Deliver a letter and record the result. Returns whether it can be removed."""
        try:
            match read.content.remedy:
                case Illegible(problem):
                    done.failures.append(Failure(read=read, problem=problem))
                    return False
                case Lost():
                    done.dropped += 1
                    return True
                case Observe(event):
                    self._recipients.observe(event)
                case Tick() if done.tick_asked_for:
                    done.dropped += 1
                    return True
                case Tick():
                    self._recipients.wake("redriven")
                    done.tick_asked_for = True
        except NotDelivered as error:
            done.failures.append(Failure(read=read, problem=str(error)))
            return False
        done.redriven += 1
        return True


def _look(letters: DeadLetterQueue, most: int) -> Sequence[DeadLetter]:
    seen: list[DeadLetter] = []
    try:
        while len(seen) < most and (batch := letters.receive(most - len(seen))):
            seen += batch
    finally:
        letters.give_back(seen)
    return seen


def _read(queue: LetterQueue, letter: DeadLetter) -> ReadLetter:
    return ReadLetter(queue=queue, letter=letter, content=content_of(queue, letter))
