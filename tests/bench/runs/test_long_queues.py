"""Long queues in memory: the same work as with short ones, and complete counts."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest

from bench.metering.dynamodb_units import MeteredTable
from bench.queues.full_queues import TEAMS
from bench.queues.virtual_time import POOL
from bench.runs import long_queues
from bench.runs.long_queues import CALLS, OPERATIONS, READS, AlikeMeter, LongLines, ratios, waiting_jobs
from headway_service.ports.table import Equals, Key, Put
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable


@pytest.fixture(scope="module")
def queue() -> LongLines:
    made = LongLines(2)
    made.fill(60)
    return made


def test_jobs_that_fill_the_lines_are_as_submissions_would_have_written_them(queue: LongLines) -> None:
    assert queue.waiting() == 60
    lines = Counter(item["pk"] for item in queue.table.items() if item["pk"].startswith("line#"))
    assert len(lines) == 2 * len(TEAMS)
    submitted = queue.table.get(JobRecord.key("job-17")) or {}
    filled = queue.table.get(JobRecord.key("waiting-0000007")) or {}
    assert submitted["jobState"] == filled["jobState"] == "pending"
    job = JobRecord.parse(filled)
    made = MemoryTable()
    made.write(transitions.enqueue(job, "{}"))
    entries = job.queue_entries()
    assert [queue.table.get(entry.key()) for entry in entries] == [made.get(entry.key()) for entry in entries]
    assert made.get(JobRecord.key(job.job_name)) == filled
    request = json.loads((queue.table.get(Key("job#waiting-0000007", "request")) or {})["jobDetails"])
    assert request["TrainingJobName"] == "waiting-0000007"
    assert [{"Key": "headway:team", "Value": job.team}] == request["Tags"][1:]


def test_jobs_come_in_the_order_of_rank_so_that_a_million_are_put_in_quickly(queue: LongLines) -> None:
    first = {POOL: JobRecord.parse(queue.table.get(JobRecord.key("job-17")) or {})}
    jobs = list(waiting_jobs(first, 40))
    listed = [items[0]["listingKey"] for items in jobs]
    assert listed == sorted(listed)
    assert list(waiting_jobs(first, 40, already=15)) == jobs[15:]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_is_done_and_a_round_of_them_leaves_the_line_as_long(queue: LongLines, operation: str) -> None:
    before = queue.waiting()
    use = long_queues._use(queue, operation)
    assert use[CALLS] >= 1
    assert use[READS] >= 1
    assert queue.waiting() - before == {"submission": 1, "cancellation": -1}.get(operation, 0)


def test_a_pass_reads_no_more_of_long_lines() -> None:
    reads = []
    for waiting in (110, 440):
        queue = LongLines(1)
        queue.fill(waiting)
        reads.append(long_queues._use(queue, "pass")[READS])
    assert reads[0] == reads[1]


def count_in(counts: Counter[str], kind: str, number: float) -> None:
    counts[kind] += int(number)


def test_lines_of_like_entries_are_counted_as_if_each_had_been_sized() -> None:
    inner = MemoryTable()
    for number in range(300):
        inner.write([Put(item={"pk": "line#p", "sk": f"{number:03}", "t": "x" * 100})])
    counted: dict[type[MeteredTable], Counter[str]] = {}
    for meter in (MeteredTable, AlikeMeter):
        counts = counted[meter] = Counter()
        table = meter(inner, partial(count_in, counts))
        assert table.count_before("line#p", "200", limit=150) == 150
        assert table.tally("line#p", Equals("t", ""), limit=250).items == 250
        assert table.tally("line#p", Equals("t", ""), before="200", limit=250).items == 200
        assert len(table.tail("line#p", "t", limit=16)) == 16
    assert counted[MeteredTable] == counted[AlikeMeter]
    assert counted[AlikeMeter]["read units"] > 2


def test_what_nothing_was_used_of_has_no_ratio() -> None:
    short = {operation: {"ms": 2.0, "DynamoDB write units": 0.0} for operation in OPERATIONS}
    long = {operation: {"ms": 5.0, "DynamoDB write units": 0.0} for operation in OPERATIONS}
    assert ratios(long, short) == {operation: {"ms": 2.5} for operation in OPERATIONS}
