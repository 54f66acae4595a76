"""Dead letters, and what a redrive did about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.reading import list_of, mapping, optional_text, text, whole


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """An event or a wake-up that was put aside, as nobody could handle it.

    Attributes:
        id: SQS's id of the message; a letter that is redriven and fails again has a new one.
        queue: ``event`` or ``wake``.
        sent_time: when it was sent, ISO 8601 in UTC.
        receive_count: how often it was received, be it only to be shown.
        about: a training job and its status, or why the scheduler was to be woken; None if it is illegible.
        error_type: what it failed with, if it says so.
        error_message: the same in words, if it says so.
        problem: why it can't be redriven; None if it can.
    """

    id: str
    queue: str
    sent_time: str
    receive_count: int
    about: str | None
    error_type: str | None
    error_message: str | None
    problem: str | None

    @classmethod
    def from_document(cls, document: object) -> DeadLetter:
        """Read a dead letter; raises `ServerFaultError` on anything else."""
        letter = mapping(document)
        return cls(
            id=text(letter, "id"),
            queue=text(letter, "queue"),
            sent_time=text(letter, "sentTime"),
            receive_count=whole(letter, "receiveCount"),
            about=optional_text(letter, "about"),
            error_type=optional_text(letter, "errorType"),
            error_message=optional_text(letter, "errorMessage"),
            problem=optional_text(letter, "problem"),
        )


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """What was put aside, whether there may be more of it, and the document that says so."""

    letters: tuple[DeadLetter, ...]
    more: bool
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> DeadLetters:
        """Read dead letters; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        letters = tuple(DeadLetter.from_document(item) for item in list_of(answer, "letters"))
        return cls(letters=letters, more=bool(answer.get("more")), document=answer)


@dataclass(frozen=True, kw_only=True)
class RedriveFailure:
    """A dead letter that could not be redriven and stays: its id and queue, and why."""

    id: str
    queue: str
    problem: str

    @classmethod
    def from_document(cls, document: object) -> RedriveFailure:
        """Read a failure; raises `ServerFaultError` on anything else."""
        failure = mapping(document)
        return cls(id=text(failure, "id"), queue=text(failure, "queue"), problem=text(failure, "problem"))


@dataclass(frozen=True, kw_only=True)
class Redrive:
    """What a redrive did; every number counts letters.

    Attributes:
        redriven: handed over and removed.
        dropped: removed, as another letter had asked for the same already.
        failed: could not be handed over, and stay.
        left: still there, with those that failed; approximate if there were too many for one redrive.
        failures: why, letter by letter.
        document: the whole answer as it came.
    """

    redriven: int
    dropped: int
    failed: int
    left: int
    failures: tuple[RedriveFailure, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Redrive:
        """Read what a redrive did; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            **{key: whole(answer, key) for key in ("redriven", "dropped", "failed", "left")},
            failures=tuple(RedriveFailure.from_document(item) for item in list_of(answer, "failures")),
            document=answer,
        )
