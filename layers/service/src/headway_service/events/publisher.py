"""Publishes the changes in the table's stream: in the feed, on the bus and, if the policy selects it, as a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headway_service.actions.action import ACTIONS, ActionRecord
from headway_service.config.notifications import Notifications
from headway_service.errors import RetryLater
from headway_service.events.job_events import JobEvent, action_event, digest_event, job_event, rogue_job_event
from headway_service.events.notifications import Message, message_of
from headway_service.feed.append import FeedAppender
from headway_service.observability.logging import logger
from headway_service.ports.messaging import EventSink, SendResult
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.digest import DIGEST, DigestRecord
from headway_service.store.records.feed import FeedEvent
from headway_service.store.records.job import JobRecord

MAX_SENT = 10
"""Changes in one call: the limit of PutEvents and of PublishBatch (service quotas)."""

MAX_TRIES = 3
"""How often an entry is sent in one invocation. After that Lambda invokes the function again, with backoff."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishResult:
    """The result for a batch of stream records.

    Attributes:
        failed_from: sequence number of the first record to be retried, with all after it; None if there is none.
        dropped: how many changes are not published, or not as a message, because they are invalid or rejected.
    """

    failed_from: str | None
    dropped: int


@dataclass(frozen=True, slots=True)
class _News:
    sequence: str
    written_ms: int
    change: JobEvent
    feed_event: FeedEvent


class EventPublisher:
    """Publishes changes.

    Args:
        feed: the feed of events.
        bus: the event bus.
        topic: the topic for messages.
        notifications: the policy in effect: which changes are sent as messages.
    """

    def __init__(
        self,
        *,
        feed: FeedAppender,
        bus: EventSink[JobEvent],
        topic: EventSink[Message],
        notifications: Callable[[], Notifications],
    ) -> None:
        self._feed = feed
        self._bus = bus
        self._topic = topic
        self._notifications = notifications

    def publish(self, records: Sequence[Mapping[str, Any]]) -> PublishResult:
        """Publish the changes in a batch of stream records, which is in the order of the writes.

        Failures are retried, so a change may be published more than once; but the changes of one job are published in
        order, and the feed has each once. An invalid record is logged and skipped, so that it does not block others.
        """
        news, dropped = _read(records)
        if not news:
            return PublishResult(failed_from=None, dropped=dropped)
        try:
            notifications = self._notifications()
            self._feed.append([each.feed_event for each in news], min(each.written_ms for each in news))
        except RetryLater:
            return PublishResult(failed_from=news[0].sequence, dropped=dropped)
        for some in _together(news):
            events = _send(self._bus, [each.change for each in some])
            done = min(events.again, default=len(some))
            # A record that is retried gets its message then. So each message has an event too.
            notified = [each for each in some[:done] if _is_notified(each.change, notifications)]
            told = [(each.sequence, message) for each in notified if (message := _message(each.change)) is not None]
            messages = _send(self._topic, [message for _, message in told]) if told else SendResult()
            dropped += len(events.refused) + len(notified) - len(told) + len(messages.refused)
            failed = [*(some[i].sequence for i in events.again), *(told[i][0] for i in messages.again)]
            if failed:
                # Sequence numbers are decimal numbers of up to 40 digits (API reference, StreamRecord).
                return PublishResult(failed_from=min(failed, key=int), dropped=dropped)
        return PublishResult(failed_from=None, dropped=dropped)


def _read(records: Sequence[Mapping[str, Any]]) -> tuple[list[_News], int]:
    """The changes in stream records, and how many records are invalid."""
    news: list[_News] = []
    illegible = 0
    for raw in records:
        try:
            change = event_of(raw)
            feed_event = None if change is None else _feed_event(change)
        except Exception as error:  # noqa: BLE001 - a record that fails must not keep later ones from being published
            illegible += 1
            stored = raw.get("dynamodb", {})
            # The keys and the kind of error only: its text may quote the item.
            told = {"keys": stored.get("Keys"), "error": type(error).__name__}
            logger.error("a job event is dropped, as it cannot be read", extra=told)
            continue
        if change is not None and feed_event is not None:
            news.append(_News(raw["dynamodb"]["SequenceNumber"], _written_ms(raw), change, feed_event))
    return news, illegible


def _message(change: JobEvent) -> Message | None:
    """The message about a change; None if none can be made of it, which keeps no other from being sent."""
    try:
        return message_of(change)
    except Exception as error:  # noqa: BLE001 - as for a record that cannot be read
        logger.error(
            "a message is dropped, as it cannot be made", extra={"id": change.id, "error": type(error).__name__}
        )
        return None


def _written_ms(raw: Mapping[str, Any]) -> int:
    """When a record was written, ms, to the second."""
    return int(raw["dynamodb"]["ApproximateCreationDateTime"]) * 1000


def _feed_event(change: JobEvent) -> FeedEvent:
    return FeedEvent(id=change.id, detail_type=change.DETAIL_TYPE, detail=change.detail())


def event_of(raw: Mapping[str, Any]) -> JobEvent | None:
    """The change in a record of the table's stream, if there is one.

    Raises:
        Exception: the item is not one that this code knows.
    """
    # Imported late: it loads the classes of all event sources, which only one of the functions needs.
    from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord

    stored = DynamoDBRecord(dict(raw)).dynamodb
    if stored is None:
        raise ValueError("no stream record")
    new, old = stored.new_image, stored.old_image
    if stored.keys["pk"] == LEDGER:
        return rogue_job_event(
            RogueJobRecord.parse(new) if new else None,
            RogueJobRecord.parse(old) if old else None,
            _written_ms(raw),
        )
    if stored.keys["pk"] == DIGEST:
        return digest_event(DigestRecord.parse(new)) if new and not old else None
    if stored.keys["pk"] == ACTIONS:
        return action_event(ActionRecord.parse(new)) if new and not old else None
    return job_event(JobRecord.parse(new), JobRecord.parse(old) if old else None) if new else None


def _is_notified(change: JobEvent, notifications: Notifications) -> bool:
    return change.IS_ALWAYS_NOTIFIED or notifications.tell(change.code, change.team)


def _together(news: Sequence[_News]) -> Iterator[list[_News]]:
    """Groups of changes for one call, with no two of one job, so that the changes of a job stay in order."""
    some: list[_News] = []
    for each in news:
        if len(some) == MAX_SENT or any(other.change.subject == each.change.subject for other in some):
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _send(outlet: EventSink[_T], items: Sequence[_T]) -> SendResult:
    """Send up to :data:`MAX_SENT` items; those that fail are sent again, and only those."""
    left = list(range(len(items)))
    refused: set[int] = set()
    for _ in range(MAX_TRIES):
        try:
            sent = outlet.send([items[i] for i in left])
        except RetryLater:
            break
        refused |= {left[i] for i in sent.refused}
        left = [left[i] for i in sorted(sent.again)]
        if not left:
            break
    return SendResult(again=frozenset(left), refused=frozenset(refused))
