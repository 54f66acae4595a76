"""Dead letters, and what a redrive did."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import Time


class LetterQueue(StrEnum):
    """What the messages of a dead-letter queue are."""

    EVENT = "event"
    WAKE = "wake"


@dataclass(frozen=True, kw_only=True)
class DeadLetter(ApiDocument):
    """A message that no function could process."""

    id: str
    queue: LetterQueue
    sent_time: Time
    receive_count: int
    about: Annotated[str | None, Member("What it is about; null if it cannot be read.")]
    error_type: str | None
    error_message: str | None
    problem: Annotated[str | None, Member("Why it cannot be redriven.")]


@dataclass(frozen=True, kw_only=True)
class DeadLetters(ApiDocument):
    """Dead letters."""

    letters: tuple[DeadLetter, ...]
    more: Annotated[bool, Member("Whether there may be more.")]


@dataclass(frozen=True, kw_only=True)
class RedriveFailure(ApiDocument):
    """A dead letter that could not be redriven, and stays."""

    id: str
    queue: LetterQueue
    about: str | None
    problem: str


@dataclass(frozen=True, kw_only=True)
class Redrive(ApiDocument):
    """What a redrive did."""

    redriven: int
    dropped: int
    failed: int
    left: Annotated[int, Member("Letters that are still there, with what failed.")]
    failures: tuple[RedriveFailure, ...]
