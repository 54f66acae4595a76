"""Publishing of changes: all of them, in order for each job, again if they were rejected, and as messages by policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import pytest

from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.config.notifications import Notifications
from headway_service.errors import RetryLater
from headway_service.events import publisher
from headway_service.events.job_events import JobEvent
from headway_service.events.notifications import Message, message_of
from headway_service.events.publisher import MAX_SENT, MAX_TRIES, EventPublisher, PublishResult
from headway_service.feed.append import FeedAppender
from headway_service.feed.read import EventFilter, FeedReader
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import SendResult
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import World

T = TypeVar("T")


class Heard(Generic[T]):
    """An outlet that records accepted entries, call by call.

    Attributes:
        plan: what becomes of the things in the next calls; all are taken in further ones.
    """

    def __init__(self) -> None:
        self.calls: list[list[T]] = []
        self.taken: list[T] = []
        self.plan: list[Callable[[Sequence[T]], SendResult]] = []

    def send(self, items: Sequence[T]) -> SendResult:
        assert 1 <= len(items) <= MAX_SENT
        self.calls.append(list(items))
        sent = self.plan.pop(0)(items) if self.plan else SendResult()
        self.taken += [item for i, item in enumerate(items) if i not in sent.again | sent.refused]
        return sent


class Ears:
    """A teller, and both of its outlets."""

    def __init__(self, **notifications: Any) -> None:
        self.bus: Heard[JobEvent] = Heard()
        self.topic: Heard[Message] = Heard()
        self.policy = Notifications.model_validate(notifications)
        self.table: MemoryTable = MemoryTable()
        self.event_publisher = self.reading(lambda: self.policy)

    def reading(self, notifications: Callable[[], Notifications]) -> EventPublisher:
        feed = FeedAppender(self.table, lambda: int(START_S * 1000))
        return EventPublisher(feed=feed, bus=self.bus, topic=self.topic, notifications=notifications)

    def tell(self, records: Sequence[dict[str, Any]]) -> PublishResult:
        return self.event_publisher.publish(records)

    @property
    def events(self) -> list[str]:
        return [change.id for change in self.bus.taken]

    @property
    def feed(self) -> list[str]:
        now_ms = int(START_S * 1000)
        reader = FeedReader(self.table, Clocks(training_ms=lambda: now_ms, machine_ms=lambda: now_ms))
        return [event.id for _, event in reader.read(None, EventFilter(), 100).events]

    @property
    def subjects(self) -> list[str]:
        return [message.subject for message in self.topic.taken]


def records(table: StreamedTable) -> list[dict[str, Any]]:
    return [table.record(number, START_S) for number in range(len(table.written))]


def submitted(*names: str) -> list[dict[str, Any]]:
    """The stream after these jobs were submitted."""
    table = StreamedTable()
    world = World(table=table)
    for name in names:
        world.submit(name)
    return records(table)


def lived() -> list[dict[str, Any]]:
    """The stream after two jobs were submitted, started and completed: a/1 b/1 a/2 b/2 and so on."""
    table = StreamedTable()
    world = World(table=table)
    world.submit("a")
    world.submit("b")
    world.tick()
    world.pass_time(3000)
    return records(table)


def again(*indexes: int) -> Callable[[object], SendResult]:
    return lambda _: SendResult(again=frozenset(indexes))


def refused(*indexes: int) -> Callable[[object], SendResult]:
    return lambda _: SendResult(refused=frozenset(indexes))


def busy(_: object) -> SendResult:
    raise RetryLater("not now")


def test_all_changes_are_published_in_order() -> None:
    ears = Ears()
    assert ears.tell(lived()) == PublishResult(failed_from=None, dropped=0)
    assert ears.events == ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3"]


def test_all_changes_are_in_the_feed_once_although_their_records_come_again() -> None:
    ears = Ears()
    ears.bus.plan = [again(0), again(0), again(0)]
    stream = lived()
    assert ears.tell(stream).failed_from == stream[0]["dynamodb"]["SequenceNumber"]
    assert ears.tell(stream).failed_from is None
    assert ears.feed == ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3"]


def test_all_records_are_retried_if_the_feed_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ears = Ears()
    stream = submitted("a", "b")
    monkeypatch.setattr(ears.table, "write", busy)
    assert ears.tell(stream).failed_from == stream[0]["dynamodb"]["SequenceNumber"]
    assert ears.events == [], "an event on the bus is in the feed"


def test_ten_are_sent_at_once() -> None:
    ears = Ears()
    ears.tell(submitted(*(f"j{i}" for i in range(23))))
    assert [len(call) for call in ears.bus.calls] == [10, 10, 3]


def test_two_events_of_one_job_are_never_sent_concurrently() -> None:
    ears = Ears()
    ears.tell(lived())
    assert [[change.id for change in call] for call in ears.bus.calls] == [
        ["a/1", "b/1"],
        ["a/2", "b/2"],
        ["a/3", "b/3"],
    ]


def test_only_rejected_entries_are_sent_again() -> None:
    ears = Ears()
    ears.bus.plan = [again(0, 2), again(1)]
    assert ears.tell(submitted("a", "b", "c")).failed_from is None
    assert [[change.id for change in call] for call in ears.bus.calls] == [
        ["a/1", "b/1", "c/1"],
        ["a/1", "c/1"],
        ["c/1"],
    ]


def test_a_repeatedly_rejected_event_is_retried_and_later_ones_are_not_sent() -> None:
    ears = Ears()
    ears.bus.plan = [again(1), *[again(0)] * (MAX_TRIES - 1)]
    stream = lived()
    assert ears.tell(stream) == PublishResult(failed_from=stream[1]["dynamodb"]["SequenceNumber"], dropped=0)
    assert ears.events == ["a/1"]

    assert ears.tell(stream[1:]).failed_from is None
    assert ears.events == ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3"]


def test_the_first_that_failed_is_found_by_number_not_by_text() -> None:
    ears = Ears()
    ears.bus.plan = [again(8, 9), again(0, 1), again(0, 1)]
    stream = submitted(*(f"j{i}" for i in range(10)))
    assert [stream[8]["dynamodb"]["SequenceNumber"], stream[9]["dynamodb"]["SequenceNumber"]] == ["9", "10"]
    assert ears.tell(stream).failed_from == "9"


@pytest.mark.parametrize("outlet", ["bus", "topic"])
def test_all_records_are_retried_if_an_outlet_does_not_answer(outlet: str) -> None:
    ears = Ears(codes=["Entered"])
    getattr(ears, outlet).plan = [busy]
    stream = submitted("a", "b")
    assert ears.tell(stream).failed_from == stream[0]["dynamodb"]["SequenceNumber"]


def test_all_records_are_retried_if_the_policy_cannot_be_read() -> None:
    ears = Ears()
    stream = submitted("a")

    def unread() -> Notifications:
        raise RetryLater("not now")

    told = ears.reading(unread).publish(stream)
    assert told == PublishResult(failed_from=stream[0]["dynamodb"]["SequenceNumber"], dropped=0)
    assert ears.events == []


POISON: list[tuple[str, dict[str, Any]]] = [
    ("an item that is no job", {"jobName": {"S": "a"}}),
    ("a reason that nobody knows", {"reason": {"M": {"code": {"S": "?"}, "message": {"S": ""}}}}),
    ("a shape of later code", {"schemaVersion": {"N": "999"}}),
    ("no type that the table has", {"version": {"X": "1"}}),
]


@pytest.mark.parametrize("image", [row[1] for row in POISON], ids=[row[0] for row in POISON])
def test_an_unreadable_record_is_counted_and_blocks_no_other(image: dict[str, Any]) -> None:
    ears = Ears()
    stream = submitted("a", "b", "c")
    whole = stream[1]["dynamodb"]["NewImage"]
    stream[1]["dynamodb"]["NewImage"] = image if "jobName" in image else {**whole, **image}
    assert ears.tell(stream) == PublishResult(failed_from=None, dropped=1)
    assert ears.events == ["a/1", "c/1"]


def test_an_empty_record_is_also_counted() -> None:
    ears = Ears()
    assert ears.tell([{}, {"dynamodb": {}}]) == PublishResult(failed_from=None, dropped=2)


def failing(of: str) -> Callable[..., Any]:
    """A function of a change that fails for the changes of one job."""

    def fail(change: JobEvent) -> Any:
        if change.subject == of:
            raise ValueError("it cannot be written")
        return "{}"

    return fail


def test_a_change_that_cannot_be_written_is_counted_and_blocks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobEvent, "detail", failing("b"))
    ears = Ears(codes=["Entered"])
    assert ears.tell(submitted("a", "b", "c")) == PublishResult(failed_from=None, dropped=1)
    assert (ears.events, len(ears.feed), len(ears.subjects)) == (["a/1", "c/1"], 2, 2)


def test_a_message_that_cannot_be_made_is_counted_and_blocks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = submitted("a", "b", "c")

    def fail(change: JobEvent) -> Message:
        failing("b")(change)
        return message_of(change)

    monkeypatch.setattr(publisher, "message_of", fail)
    ears = Ears(codes=["Entered"])
    ears.topic.plan = [again(1), again(0), again(0)]
    assert ears.tell(stream) == PublishResult(failed_from=stream[2]["dynamodb"]["SequenceNumber"], dropped=1)
    assert (ears.events, ears.subjects) == (["a/1", "b/1", "c/1"], ["Entered: a"])


def test_no_call_is_made_if_no_message_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "message_of", failing("a"))
    ears = Ears(codes=["Entered"])
    assert ears.tell(submitted("a")) == PublishResult(failed_from=None, dropped=1)
    assert ears.topic.calls == []


def test_the_policy_selects_the_messages() -> None:
    ears = Ears(codes=["Completed"])
    ears.tell(lived())
    assert ears.subjects == ["Completed: a", "Completed: b"]


def test_there_is_a_message_for_unrequested_changes_by_default() -> None:
    table = StreamedTable()
    world = World(table=table)
    world.submit("a", Environment={"SANDBOX_OUTCOME": "AlgorithmError: exit code 1", "SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    world.pass_time(3000)
    ears = Ears()
    ears.tell(records(table))
    assert ears.subjects == ["Failed: a"]


def test_an_empty_list_disables_messages_but_not_events() -> None:
    ears = Ears(codes=[])
    ears.tell(lived())
    assert ears.topic.calls == []
    assert len(ears.events) == 6


def test_messages_may_be_for_some_teams_only() -> None:
    ears = Ears(codes=["Entered"], teams=["research"])
    ears.tell(submitted("a"))
    assert ears.topic.calls == []


def test_each_message_has_an_event() -> None:
    ears = Ears(codes=["Entered"])
    ears.bus.plan = [again(1), again(0), again(0)]
    ears.tell(submitted("a", "b", "c"))
    assert ears.subjects == ["Entered: a"]


def test_a_rejected_message_is_retried_with_its_event() -> None:
    ears = Ears(codes=["Entered"])
    ears.topic.plan = [again(1), *[again(0)] * (MAX_TRIES - 1)]
    stream = submitted("a", "b", "c")
    assert ears.tell(stream).failed_from == stream[1]["dynamodb"]["SequenceNumber"]
    assert ears.subjects == ["Entered: a", "Entered: c"]


def test_a_permanently_rejected_message_is_counted_and_blocks_nothing() -> None:
    ears = Ears(codes=["Entered"])
    ears.topic.plan = [refused(0, 2)]
    assert ears.tell(submitted("a", "b", "c")) == PublishResult(failed_from=None, dropped=2)
    assert ears.subjects == ["Entered: b"]
    assert ears.events == ["a/1", "b/1", "c/1"]
