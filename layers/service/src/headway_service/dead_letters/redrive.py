"""Looks at what lies in the dead-letter queues, and hands it again to whom it was meant for.

SQS's own redrive (StartMessageMoveTask) can't do this: it moves letters back to a queue that they came from, and events
came from none (source: its API reference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.api_documents.dead_letters import LetterQueue
from headway_service.dead_letters.parser import Content, Illegible, Lost, Observe, Tick, content_of
from headway_service.errors import NotHandedOver
from headway_service.observability.logging import logger
from headway_service.ports.messaging import DeadLetter, DeadLetterQueue, Recipients

MAX_SHOWN = 50
"""Dead events shown in one answer."""

MAX_SHOWN_WAKES = 10
"""Dead wake-ups shown in one answer: of one message group, a FIFO queue hands out no more while ten are taken."""

MAX_REDRIVEN = 200
"""Letters that one redrive takes from each queue."""

REDRIVE_MS = 10_000
"""How long a redrive goes on taking letters, ms; the API function lives for 25 s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLetter:
    """A dead letter that was read."""

    queue: LetterQueue
    letter: DeadLetter
    content: Content


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A letter that could not be redriven, and why. It stays in its queue."""

    read: ReadLetter
    problem: str


@dataclass(kw_only=True, slots=True)
class Redrive:
    """What a redrive did, in letters."""

    #: Handed over and removed.
    redriven: int = 0
    #: Removed without being handed over: the tick that it asks for has been asked for, or nothing makes it good.
    dropped: int = 0
    failures: list[Failure] = field(default_factory=list)
    #: In the queues still; approximate if the redrive ended before the queues did.
    left: int = 0
    tick_asked_for: bool = False


class DeadLetters:
    """The letters in both dead-letter queues.

    Args:
        queues: both.
        recipients: those whom the letters are for.
        clock: now, ms.
    """

    def __init__(
        self, queues: Mapping[LetterQueue, DeadLetterQueue], recipients: Recipients, clock: Callable[[], int]
    ) -> None:
        self._queues = queues
        self._recipients = recipients
        self._clock = clock

    def show(self) -> tuple[Sequence[ReadLetter], bool]:
        """The letters, and whether there may be more. They stay where they are, for everybody to take."""
        shown: list[ReadLetter] = []
        more = False
        for queue, most in ((LetterQueue.EVENT, MAX_SHOWN), (LetterQueue.WAKE, MAX_SHOWN_WAKES)):
            letters = _look(self._queues[queue], most)
            shown += [_read(queue, letter) for letter in letters]
            more = more or len(letters) == most
        return shown, more

    def redrive(self) -> Redrive:
        """Hand the letters over, each removed once that has succeeded; what fails stays.

        An event that fails again comes back as a new letter: nobody waits for it here, and it keeps nobody from
        anything. If this call itself is cut off, some letters are handed over once more, which changes nothing.
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
        """Redrive one queue; how many letters are left in it."""
        letters = self._queues[queue]
        taken = 0
        kept: list[DeadLetter] = []
        try:
            while taken < MAX_REDRIVEN and self._clock() < deadline_ms:
                batch = letters.take(MAX_REDRIVEN - taken)
                if not batch:
                    return len(kept)
                taken += len(batch)
                for letter in batch:
                    if self._clock() < deadline_ms and self._hand_over(_read(queue, letter), done):
                        letters.remove(letter)
                    else:
                        kept.append(letter)
        finally:
            # Not before the end: given back at once, what fails would be taken again and again.
            letters.give_back(kept)
        return max(len(kept), letters.count())

    def _hand_over(self, read: ReadLetter, done: Redrive) -> bool:
        """Hand a letter over and note what became of it; whether it can be removed."""
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
        except NotHandedOver as error:
            done.failures.append(Failure(read=read, problem=str(error)))
            return False
        done.redriven += 1
        return True


def _look(letters: DeadLetterQueue, most: int) -> Sequence[DeadLetter]:
    seen: list[DeadLetter] = []
    try:
        while len(seen) < most and (batch := letters.take(most - len(seen))):
            seen += batch
    finally:
        letters.give_back(seen)
    return seen


def _read(queue: LetterQueue, letter: DeadLetter) -> ReadLetter:
    return ReadLetter(queue=queue, letter=letter, content=content_of(queue, letter))
