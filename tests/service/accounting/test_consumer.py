"""A batch of the stream: sums first, then events, and only of what is in the sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.accounting.accountant import Accountant
from headway_service.accounting.consumer import StreamConsumer, ended_in
from headway_service.errors import RetryLater
from headway_service.events.publisher import PublishResult
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import sums
from tests.service.world import P5, World

LONG = {"SANDBOX_RUN_SECONDS": "90000"}


def stream() -> list[dict[str, Any]]:
    """A job is preempted by another; both end."""
    table = StreamedTable()
    world = World(table=table, pools={P5: 1})
    world.submit("low", 1, Environment=LONG)
    world.tick()
    world.pass_time(300)
    world.submit("high", 5)
    world.tick()
    world.pass_time(200_000)
    return [table.record(number, START_S) for number in range(len(table.written))]


class Published:
    def __init__(self, failed_from: str | None = None) -> None:
        self.records: list[Mapping[str, Any]] = []
        self.failed_from = failed_from

    def __call__(self, records: Sequence[Mapping[str, Any]]) -> PublishResult:
        self.records += records
        return PublishResult(failed_from=self.failed_from, dropped=0)


class Picky(Accountant):
    """Cannot account for some jobs.

    Attributes:
        errors: by job.
    """

    def __init__(self, table: MemoryTable, errors: Mapping[str, Exception]) -> None:
        super().__init__(table, lambda: ())
        self.errors = errors
        self.calls = 0

    def account(self, jobs: Iterable[JobRecord]) -> int:
        jobs = list(jobs)
        self.calls += 1
        for job in jobs:
            if job.job_name in self.errors:
                raise self.errors[job.job_name]
        return super().account(jobs)


def first_end(records: Sequence[Mapping[str, Any]], name: str = "") -> int:
    ended = [ended_in(raw) for raw in records]
    return next(i for i, job in enumerate(ended) if job is not None and name in {"", job.job_name})


def test_attempts_are_in_the_sums_when_they_end_and_jobs_too() -> None:
    records, table, published = stream(), MemoryTable(), Published()
    result = StreamConsumer(Accountant(table, lambda: ()), published).consume(records)
    assert (result.failed_from, result.unaccounted, len(published.records)) == (None, 0, len(records))
    figures: dict[str, int] = {}
    for (pk, sk), each in sums(table).items():
        if pk.startswith("usage#pool#") and sk.startswith("00#"):
            for name, value in each.items():
                figures[name] = figures.get(name, 0) + value
    ended = {name: count for name, count in figures.items() if name.startswith("jobs.")}
    # The long one reaches its limit.
    assert (figures["attempts"], figures["preemptions"]) == (3, 1)
    assert ended == {"jobs.completed": 1, "jobs.stopped": 1}
    assert 0 < figures[f"lost.{P5}"] < figures[f"used.{P5}"]


def test_changes_that_end_nothing_are_not_accounted_for() -> None:
    jobs = [ended_in(raw) for raw in stream()]
    assert [job.job_name for job in jobs if job] == ["low", "high", "low"]
    assert None in jobs


def test_what_cannot_be_accounted_for_now_is_not_published_and_comes_again() -> None:
    records, table, published = stream(), MemoryTable(), Published()
    first = first_end(records)
    picky = Picky(table, {"low": RetryLater("not now")})
    result = StreamConsumer(picky, published).consume(records)
    assert picky.calls == 1, "one by one it would be no better"
    assert result.failed_from == records[first]["dynamodb"]["SequenceNumber"]
    assert published.records == records[:first]
    assert sums(table) == {}


def test_an_earlier_change_that_cannot_be_published_decides_where_the_batch_comes_again() -> None:
    records = stream()
    consumer = StreamConsumer(Picky(MemoryTable(), {"low": RetryLater("not now")}), Published(failed_from="1"))
    assert consumer.consume(records).failed_from == "1"


def test_a_job_that_can_never_be_accounted_for_is_counted_and_keeps_nothing_else_back() -> None:
    records, table, published = stream(), MemoryTable(), Published()
    result = StreamConsumer(Picky(table, {"low": ValueError("broken")}), published).consume(records)
    assert (result.failed_from, result.unaccounted) == (None, 2)
    assert published.records == records
    assert sums(table) != {}


def test_an_unreadable_record_is_left_to_the_publisher() -> None:
    raw = stream()[-1]
    broken = {**raw, "dynamodb": {**raw["dynamodb"], "NewImage": {"jobName": {"S": "x"}}}}
    published = Published()
    result = StreamConsumer(Accountant(MemoryTable(), lambda: ()), published).consume([broken])
    assert (result.failed_from, result.unaccounted, published.records) == (None, 0, [broken])
