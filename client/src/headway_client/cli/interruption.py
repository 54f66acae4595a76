"""What is true when Ctrl-C interrupts a command, for the last line that it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

DEFAULT = "a request already sent may still be carried out."

UNCHANGED = "nothing was changed."
"""For commands that only read."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence about what has been done.

    Attributes:
        sentence: the sentence.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@contextmanager
def if_interrupted(sentence: str | Callable[[], str]) -> Iterator[None]:
    """Raise `Interrupted` if Ctrl-C interrupts the body; the innermost sentence is the one that is printed.

    Args:
        sentence: the sentence, or a function that returns it at the interrupt.
    """
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(sentence if isinstance(sentence, str) else sentence()) from None


def sentence_of(interrupt: KeyboardInterrupt) -> str:
    """Return the sentence of an interrupt."""
    return interrupt.sentence if isinstance(interrupt, Interrupted) else DEFAULT
