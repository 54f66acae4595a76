"""Tells of changes as the table's stream brings them: each as an event, and by policy as a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headway_service.config.notifications import Notifications
from headway_service.errors import Busy
from headway_service.events.job_events import Change, job_change, rogue_change
from headway_service.events.notifications import Message, message_of
from headway_service.observability.logging import logger
from headway_service.ports.messaging import Outlet, Sent
from headway_service.store.records.base import LEDGER
from headway_service.store.records.job import JobRecord
from headway_service.store.records.unmanaged_job import RogueRecord

MAX_SENT = 10
"""Changes that are sent at once: what one PutEvents and one PublishBatch take (service quotas)."""

MAX_TRIES = 3
"""How often what was not taken is sent in one invocation; after that Lambda makes the next one, later and later."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What became of a batch of the stream.

    Attributes:
        failed_from: sequence number of the first record that has to come again, with all after it; None if none has to.
        untold: how many changes will never be told, or not by message, because nobody understands or takes them.
    """

    failed_from: str | None
    untold: int


@dataclass(frozen=True, slots=True)
class _News:
    sequence: str
    change: Change


class Teller:
    """Tells of changes.

    Args:
        bus: takes the events.
        topic: takes the messages.
        notifications: the policy in force, of which changes there are messages.
    """

    def __init__(self, bus: Outlet[Change], topic: Outlet[Message], notifications: Callable[[], Notifications]) -> None:
        self._bus = bus
        self._topic = topic
        self._notifications = notifications

    def tell(self, records: Sequence[Mapping[str, Any]]) -> Told:
        """Tell of the changes in a batch of stream records, which is in the order of the writes.

        What fails comes again, so all of it may be told more than once; but nothing is told of a job before what
        happened to it earlier. A record that nobody understands is logged and passed over: it must not hold up others.
        """
        news, untold = _read(records)
        if not news:
            return Told(failed_from=None, untold=untold)
        try:
            notifications = self._notifications()
        except Busy:
            return Told(failed_from=news[0].sequence, untold=untold)
        for some in _together(news):
            events = _send(self._bus, [each.change for each in some])
            done = min(events.again, default=len(some))
            # Who comes again gets a message then. So whoever gets one has an event too.
            told = [each for each in some[:done] if notifications.tell(each.change.code, each.change.team)]
            messages = _send(self._topic, [message_of(each.change) for each in told]) if told else Sent()
            untold += len(events.refused) + len(messages.refused)
            failed = [*(some[i].sequence for i in events.again), *(told[i].sequence for i in messages.again)]
            if failed:
                # Sequence numbers are decimal numbers of up to 40 digits (API reference, StreamRecord).
                return Told(failed_from=min(failed, key=int), untold=untold)
        return Told(failed_from=None, untold=untold)


def _read(records: Sequence[Mapping[str, Any]]) -> tuple[list[_News], int]:
    """The changes in stream records, and how many records nobody understands."""
    news: list[_News] = []
    illegible = 0
    for raw in records:
        try:
            change = change_of(raw)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the records after it must be told
            illegible += 1
            stored = raw.get("dynamodb", {})
            # The keys and the kind of error: its text may quote the item.
            told = {"keys": stored.get("Keys"), "error": type(error).__name__}
            logger.error("a change is not told, as it cannot be read", extra=told)
            continue
        if change is not None:
            news.append(_News(raw["dynamodb"]["SequenceNumber"], change))
    return news, illegible


def change_of(raw: Mapping[str, Any]) -> Change | None:
    """The change that a record of the table's stream tells of, if it does.

    Raises:
        Exception: it is no record of an item that this code knows.
    """
    # It brings classes of all events there are with it, and of the functions that import this only one needs them.
    from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord

    stored = DynamoDBRecord(dict(raw)).dynamodb
    if stored is None:
        raise ValueError("no stream record")
    new, old = stored.new_image, stored.old_image
    if stored.keys["pk"] == LEDGER:
        # To the second, which is all that the stream says.
        written_ms = int(raw["dynamodb"]["ApproximateCreationDateTime"]) * 1000
        return rogue_change(
            RogueRecord.parse(new) if new else None, RogueRecord.parse(old) if old else None, written_ms
        )
    return job_change(JobRecord.parse(new), JobRecord.parse(old) if old else None) if new else None


def _together(news: Sequence[_News]) -> Iterator[list[_News]]:
    """As many at once as can be sent at once, with no two of one job, so that none can overtake another of its job."""
    some: list[_News] = []
    for each in news:
        if len(some) == MAX_SENT or any(other.change.subject == each.change.subject for other in some):
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _send(outlet: Outlet[_T], items: Sequence[_T]) -> Sent:
    """Send up to :data:`MAX_SENT`, and what was not taken once more, and no more than that."""
    left = list(range(len(items)))
    refused: set[int] = set()
    for _ in range(MAX_TRIES):
        try:
            sent = outlet.send([items[i] for i in left])
        except Busy:
            break
        refused |= {left[i] for i in sent.refused}
        left = [left[i] for i in sorted(sent.again)]
        if not left:
            break
    return Sent(again=frozenset(left), refused=frozenset(refused))
