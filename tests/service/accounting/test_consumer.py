"""The sums follow the feed of events: what has ended is in them once, wherever a run stops and whoever else runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from headway.job_terms import owner_hash
from headway.prediction.kinds import RunKind
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.accounting import consumer as consuming
from headway_service.accounting.accountant import Accountant
from headway_service.accounting.consumer import STORED_EACH_MS, ConsumeResult, UsageConsumer, ended_in
from headway_service.accounting.records import ProgressRecord
from headway_service.accounting.run_times import FRESH_MS
from headway_service.config.notifications import Notifications
from headway_service.errors import NewerSchema, RetryLater
from headway_service.events.publisher import EventPublisher
from headway_service.feed.append import FeedAppender
from headway_service.feed.read import IDLE_MS, MAX_EVENTS, EventFilter, FeedReader
from headway_service.ports.messaging import SendResult
from headway_service.ports.table import Key, Put, Update, Write
from headway_service.store.ledger import read_ledger
from headway_service.store.records.feed import FEED_KEPT_S
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.usage import check_usage
from tests.service.accounting.test_accountant import expiry, sums
from tests.service.world import P5, ROOT, World

LONG = {"SANDBOX_RUN_SECONDS": "90000"}


class WatchedTable(StreamedTable):
    """A table with a stream, which counts writes, and fails them.

    Attributes:
        sums: how often a sum was written.
        fails: raises for a write that is to fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sums = 0
        self.fails: Callable[[Sequence[Write]], None] = lambda _: None

    def write(self, writes: Sequence[Write]) -> None:
        self.fails(writes)
        super().write(writes)
        self.sums += sum(isinstance(each, Update) and each.key.pk.startswith("usage#") for each in writes)


class Taken:
    """A bus, or a topic, that takes everything."""

    def send(self, _: Sequence[object]) -> SendResult:
        return SendResult()


class Followed(World):
    """A queue whose stream is published in its feed, and whose sums follow that."""

    def __init__(self, size: int = 1) -> None:
        self.watched = WatchedTable()
        super().__init__(table=self.watched, pools={P5: size})
        self._published = 0

    def publish(self) -> None:
        records = [self.watched.record(n, self.now_s) for n in range(self._published, len(self.watched.written))]
        self._published = len(self.watched.written)
        publisher = EventPublisher(
            feed=FeedAppender(self.table, self.machine_clock), bus=Taken(), topic=Taken(), notifications=Notifications
        )
        assert publisher.publish(records).failed_from is None

    def consumer(self, accountant: Accountant | None = None) -> UsageConsumer:
        feed = FeedReader(self.table, self.clocks)
        accountant = accountant or Accountant(self.table, lambda: (), self.machine_clock)
        return UsageConsumer(self.table, accountant, feed, self.machine_clock)

    def consume(self, accountant: Accountant | None = None, *, until_ms: int | None = None) -> int:
        self.publish()
        until_ms = self.machine_clock() + 60_000 if until_ms is None else until_ms
        return self.consumer(accountant).consume(until_ms).unaccounted

    def progress(self) -> str | None:
        item = self.table.get(ProgressRecord.KEY)
        return None if item is None else str(item["cursor"])

    def preempt(self) -> None:
        """A job is preempted by another; both end."""
        self.submit("low", 1, Environment=LONG)
        self.tick()
        self.pass_time(300)
        self.submit("high", 5)
        self.tick()
        self.pass_time(200_000)

    def run(self, *names: str) -> None:
        """Jobs run to their ends, all at once."""
        for name in names:
            self.submit(name)
        self.tick()
        self.pass_time(3000)


class Picky(Accountant):
    """Cannot account for some jobs.

    Attributes:
        errors: by job.
    """

    def __init__(self, table: MemoryTable, errors: Mapping[str, Exception]) -> None:
        super().__init__(table, lambda: (), lambda: 0)
        self.errors = errors

    def account(self, jobs: Iterable[JobRecord]) -> int:
        jobs = list(jobs)
        for job in jobs:
            if job.job_name in self.errors:
                raise self.errors[job.job_name]
        return super().account(jobs)


def of_pools(world: Followed) -> Counter[str]:
    """The figures of all pools of the month."""
    found: Counter[str] = Counter()
    for (pk, sk), each in sums(world.watched).items():
        if pk.startswith("usage#pool#") and sk.startswith("00#"):
            found.update(each)
    return found


def test_attempts_are_in_the_sums_when_they_have_ended_and_jobs_too() -> None:
    world = Followed()
    world.preempt()
    assert world.consume() == 0
    check_usage(world.watched)
    figures = of_pools(world)
    # The long one reaches its limit.
    assert (figures["attempts"], figures["preemptions"]) == (3, 1)
    assert {name: count for name, count in figures.items() if name.startswith("jobs.")} == {
        "jobs.completed": 1,
        "jobs.stopped": 1,
    }
    assert 0 < figures[f"lost.{P5}"] < figures[f"used.{P5}"]


def test_the_end_of_an_attempt_is_accounted_for_before_that_of_its_job() -> None:
    world = Followed()
    world.submit("low", 1, Environment=LONG)
    world.tick()
    world.pass_time(300)
    world.submit("high", 5)
    world.tick()
    world.pass_time(300)
    world.consume()
    assert of_pools(world)["attempts"] == 1
    assert not [name for name in of_pools(world) if name.startswith("jobs.")]


def test_a_job_that_is_stopped_while_it_waits_is_accounted_for() -> None:
    world = Followed()
    world.submit("a", 1)
    world.container.job_commands.stop("a", ROOT, "")
    world.consume()
    assert of_pools(world)["jobs.stopped"] == 1


def test_the_request_of_a_job_is_forgotten_with_it_however_it_ends() -> None:
    world = Followed()
    world.preempt()
    world.submit("waits", 1)
    world.container.job_commands.stop("waits", ROOT, "")
    for name in ("low", "high", "waits"):
        assert expiry(world.watched, name) is None
    world.consume()
    for name in ("low", "high", "waits"):
        assert expiry(world.watched, name) == world.seen(name).job.expires_at


def test_an_event_that_ends_nothing_names_no_job() -> None:
    world = Followed()
    world.preempt()
    world.publish()
    page = FeedReader(world.table, world.clocks).read(None, EventFilter(), MAX_EVENTS)
    named = [(event.document["code"], ended_in(event)) for _, event in page.events]
    assert [name for _, name in named if name] == ["low", "high", "low"]
    assert {code for code, name in named if name is None} >= {"Entered", "Started"}


def test_jobs_that_end_within_a_minute_are_added_to_each_sum_once() -> None:
    world = Followed(8)
    world.run(*"abcdefgh")
    world.consume()
    check_usage(world.watched)
    # Team, owner and pool, each of a day and a month; and the names, which are new.
    assert world.watched.sums == 6 + 3


def test_a_later_run_continues_where_the_one_before_has_ended() -> None:
    world = Followed()
    world.run("a")
    world.consume()
    written = world.watched.sums
    world.consume()
    assert world.watched.sums == written
    world.run("b")
    world.consume()
    check_usage(world.watched)
    assert of_pools(world)["jobs.completed"] == 2


def test_a_run_without_events_writes_nothing_until_its_cursor_is_an_hour_behind() -> None:
    world = Followed()
    world.run("a")
    world.consume()
    stored = world.progress()
    world.now_s += (IDLE_MS + STORED_EACH_MS) / 1000 - 60
    world.consume()
    assert world.progress() == stored
    world.now_s += 3600
    world.consume()
    assert world.progress() != stored


def test_a_run_stores_its_place_where_jobs_have_ended_or_it_has_read_much_or_is_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Followed(8)
    world.submit("first")
    world.consume()
    places = [world.progress()]
    world.run("a")
    world.consume()
    places.append(world.progress())
    world.submit("b")
    world.consume()
    assert places == sorted(set(map(str, places)))
    assert world.progress() == places[-1], "one event that ends nothing is read again"
    monkeypatch.setattr(consuming, "MAX_EVENTS", 4)
    for name in "cdefg":
        world.submit(name)
    world.consume()
    assert str(world.progress()) > str(places[-1])


def test_a_cursor_of_a_queue_that_is_idle_for_weeks_does_not_expire() -> None:
    world = Followed()
    world.run("a")
    world.consume()
    for _ in range(30):
        world.now_s += 86_400
        assert world.consume() == 0


def test_events_that_have_expired_before_they_were_read_are_counted() -> None:
    world = Followed()
    world.run("a")
    world.consume()
    world.now_s += FEED_KEPT_S + 7200
    assert world.consume() == 1
    assert world.consume() == 0


def test_a_run_that_stops_between_the_sums_and_its_progress_is_repeated_without_effect() -> None:
    world = Followed()
    world.run("a")

    def stop(writes: Sequence[Write]) -> None:
        if isinstance(writes[0], Put) and Key(writes[0].item["pk"], writes[0].item["sk"]) == ProgressRecord.KEY:
            raise KeyboardInterrupt

    world.watched.fails = stop
    with pytest.raises(KeyboardInterrupt):
        world.consume()
    assert sums(world.watched) != {}
    world.watched.fails = lambda _: None
    world.consume()
    check_usage(world.watched)


def test_a_run_that_is_behind_another_one_adds_nothing_twice() -> None:
    world = Followed()
    world.run("a")
    world.consume()
    behind = world.table.get(ProgressRecord.KEY)
    assert behind is not None
    world.run("b")
    world.consume()
    world.table.write([Put(item=behind)])
    world.consume()
    check_usage(world.watched)


def test_what_cannot_be_accounted_for_now_is_in_the_sums_after_the_next_run() -> None:
    world = Followed()
    world.run("a")
    assert world.consume(Picky(world.watched, {"a": RetryLater("not now")})) == 0
    assert (sums(world.watched), world.progress()) == ({}, None)
    world.consume()
    check_usage(world.watched)


def test_a_table_that_does_not_answer_one_by_one_either_ends_the_run() -> None:
    world = Followed(2)
    world.run("a", "b")
    picky = Picky(world.watched, {"a": ValueError("broken"), "b": RetryLater("not now")})
    assert world.consume(picky) == 0
    assert world.progress() is None


def test_a_job_that_can_never_be_accounted_for_is_counted_and_keeps_nothing_else_back() -> None:
    world = Followed()
    world.preempt()
    assert world.consume(Picky(world.watched, {"low": ValueError("broken")})) == 1
    assert of_pools(world)["jobs.completed"] == 1
    assert world.progress() is not None


def test_a_job_that_cannot_be_read_is_counted_and_keeps_nothing_else_back() -> None:
    world = Followed(2)
    world.run("a", "b")
    world.publish()
    world.watched._store(JobRecord.key("a"), {**(world.table.get(JobRecord.key("a")) or {}), "history": "damaged"})
    assert world.consume() == 1
    assert of_pools(world)["jobs.completed"] == 1
    assert world.consume() == 0


def test_a_job_of_newer_code_is_waited_for() -> None:
    world = Followed(2)
    world.run("a", "b")
    world.publish()
    world.watched._store(JobRecord.key("a"), {**(world.table.get(JobRecord.key("a")) or {}), "schemaVersion": 999})
    with pytest.raises(NewerSchema):
        world.consume()
    assert world.progress() is None


def test_a_job_that_the_table_has_forgotten_is_passed_over() -> None:
    world = Followed()
    world.run("a")
    world.publish()
    world.watched._store(JobRecord.key("a"), None)
    assert world.consume() == 0
    assert sums(world.watched) == {}


@pytest.mark.parametrize(("limit", "value"), [("MAX_JOBS_READ", 2), ("MAX_PAGES_READ", 1)])
def test_a_run_ends_when_its_time_is_over_and_the_next_one_continues(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(consuming, limit, value)
    monkeypatch.setattr(consuming, "MAX_EVENTS", 3)
    world = Followed(6)
    world.run(*"abcdef")
    world.consume(until_ms=0)
    first = of_pools(world)["jobs.completed"]
    assert first < 6
    progress = world.progress()
    world.consume(until_ms=0)
    assert world.progress() != progress
    world.consume()
    check_usage(world.watched)
    assert of_pools(world)["jobs.completed"] == 6


def test_a_run_before_all_others_reads_the_whole_feed() -> None:
    world = Followed()
    world.run("a")
    world.publish()
    world.now_s += 5 * 86_400
    assert world.consumer().consume(world.machine_clock()) == ConsumeResult(unaccounted=0)
    check_usage(world.watched)


def test_run_times_are_kept_of_jobs_that_were_submitted_while_predictions_are_on() -> None:
    world = Followed(size=20)
    world.run(*[f"off-{number}" for number in range(5)])
    world.configuration.write({"pools": {P5: {"size": 20}}, "predictions": True})
    world.tick()
    world.run(*[f"bert-{number}" for number in range(5)])
    assert world.consume(world.container.accountant) == 0
    # Run times that were read before they were added to are used for some minutes.
    world.pass_time(FRESH_MS / 1000)
    waiting = world.submit("bert-9").job
    kind = RunKind.of(owner=owner_hash(ROOT.arn), source=waiting.source, demand=waiting.demand, name=waiting.job_name)
    found = world.container.run_times.get().predict(kind)
    assert found is not None
    # Ten minutes of training, and what SageMaker needs before and after it.
    assert (found.runs, found.shared) == (5, 4)
    assert 600_000 < found.low_ms <= found.high_ms < 1_200_000
    world.tick()
    (attempt,) = read_ledger(world.table).attempts
    assert (attempt.source, attempt.owned_by) == (waiting.source, owner_hash(ROOT.arn))
