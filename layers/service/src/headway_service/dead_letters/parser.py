"""Parses a dead letter: its subject, why it failed, and how to repair it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.api_documents.dead_letters import LetterQueue
from headway_service.ports.messaging import DeadLetter
from headway_service.sagemaker_api.masking import masked

MAX_TEXT_CHARS = 300
"""Each text of a letter is cut to this length; the whole letter stays in its queue."""


NOT_TOLD = (
    "no events and messages were sent for them within six hours, and none will be; the histories of the jobs have all "
    "of them (`headway show`), and redriving removes this letter"
)


CHECKED_SINCE = "the run of each minute has checked all alarms since, and redriving removes this letter"


@dataclass(frozen=True, slots=True)
class Observe:
    """Deliver the event to the observer."""

    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tick:
    """Run a tick, which does everything that is due. One is enough for any number of such letters."""


@dataclass(frozen=True, slots=True)
class Illegible:
    """It is not known where to deliver it."""

    problem: str


@dataclass(frozen=True, slots=True)
class Lost:
    """It cannot be repaired, so a redrive removes it."""

    problem: str


Remedy = Observe | Tick | Illegible | Lost


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """The content of a dead letter."""

    #: A training job and its status, or the reason of a wake-up; None if it cannot be parsed.
    about: str | None
    remedy: Remedy
    error_type: str | None = None
    error_message: str | None = None


def content_of(queue: LetterQueue, letter: DeadLetter) -> Content:
    """The content of a letter from that queue.

    Args:
        queue: the dead-letter queue.
        letter: the message.
    """
    if queue is LetterQueue.WAKE:
        return Content(about=_cut(letter.body), remedy=Tick())
    try:
        document = json.loads(letter.body)
    except (ValueError, RecursionError):
        return Content(about=None, remedy=Illegible("it is no JSON"))
    match document:
        # A function failed on the event: an invocation record (source: Lambda developer guide, "Capturing records of
        # Lambda asynchronous invocations").
        case {"requestPayload": event}:
            answer = document.get("responsePayload")
            error_type = _text(answer, "errorType") or _text(document.get("requestContext"), "condition")
            return _of_event(event, error_type, _text(answer, "errorMessage", quoting=event))
        # A function failed on changes of the table. The letter has their position in the stream, which is kept for a
        # day (source: Lambda developer guide, "Retaining discarded records for a DynamoDB event source").
        case {"DDBStreamBatchInfo": batch}:
            error_type = _text(document.get("requestContext"), "condition")
            return Content(about=_changes(batch), remedy=Lost(NOT_TOLD), error_type=error_type)
        # No function could be reached: the event itself (source: EventBridge user guide, "Using dead-letter queues to
        # process undelivered events").
        case _:
            told = letter.attributes
            return _of_event(document, _text(told, "ERROR_CODE"), _text(told, "ERROR_MESSAGE", quoting=document))


def _of_event(event: Any, error_type: str | None, error_message: str | None) -> Content:
    about: str | None
    remedy: Remedy
    match event:
        case {"source": "aws.sagemaker", "detail-type": "SageMaker Training Job State Change"}:
            about, remedy = _training_job(event.get("detail")), Observe(event)
        case {"source": "aws.events", "detail-type": "Scheduled Event"}:
            # The function that runs every minute has run many times since; only the scheduler may need a wake-up.
            about, remedy = "a minute's run", Tick()
        case {"Records": [{"EventSource": "aws:sns"}, *_]}:
            about, remedy = "an alarm on a running job", Lost(CHECKED_SINCE)
        case _:
            about, remedy = None, Illegible("it holds no event that a function of the queue takes")
    return Content(about=about, remedy=remedy, error_type=error_type, error_message=error_message)


def _changes(batch: object) -> str:
    count = batch.get("batchSize") if isinstance(batch, Mapping) else None
    first = _text(batch, "approximateArrivalOfFirstRecord") or "a time unknown"
    return f"{count} change{'s' if count != 1 else ''} of jobs from {first} on"


def _training_job(detail: object) -> str:
    told = (_text(detail, "TrainingJobName"), _text(detail, "TrainingJobStatus"))
    return " ".join(text for text in told if text) or "a training job without a name"


def _text(document: object, key: str, *, quoting: object = None) -> str | None:
    """A text of a document; ``quoting`` is an event that it may quote, whose hyperparameters are masked."""
    found = document.get(key) if isinstance(document, Mapping) else None
    if not isinstance(found, str) or not found:
        return None
    detail = quoting.get("detail") if isinstance(quoting, Mapping) else None
    return _cut(masked(found, detail) if isinstance(detail, Mapping) else found)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"
