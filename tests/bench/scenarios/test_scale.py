"""Measurements at scale: the same work with long queues as with short ones, and nothing lost or misreported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest

from bench.metering.dynamodb_units import MeteredTable
from bench.metering.partitions import READ, WRITTEN, PartitionMeter, bounds, place_of, units_of_steps
from bench.queues.full_queues import TEAMS
from bench.queues.virtual_time import POOL
from bench.scenarios import burst, long_queues, long_sandbox_queues, scale
from bench.scenarios.burst import Answers, found, oldest_age_s
from bench.scenarios.long_queues import CALLS, OPERATIONS, READS, AlikeMeter, LongLines, ratios, waiting_jobs
from headway_client.errors import BusyError, ConflictError, NotReachableError
from headway_service.ports.table import Absent, Check, Delete, Equals, Key, Put, Update
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable


@pytest.fixture(scope="module")
def steps() -> dict[str, dict[str, float]]:
    return units_of_steps(len(TEAMS), 1)


@pytest.fixture(scope="module")
def queue() -> LongLines:
    made = LongLines(2)
    made.fill(60)
    return made


# ---------------------------------------------------------------------------------------------------------- long lines


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


def test_the_first_round_is_not_timed_and_what_follows_is_waited_for() -> None:
    done: list[str] = []
    times = long_sandbox_queues.times_of(done.append, lambda: done.append("settle"), 2)
    assert done == [step for _ in range(3) for operation in OPERATIONS for step in (operation, "settle")]
    assert times.keys() == set(OPERATIONS)
    assert all(each["from"] <= each["ms"] <= each["to"] for each in times.values())


# --------------------------------------------------------------------------------------------------------------- burst


class User:
    """A client with given responses, one per submission."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers: Iterator[Exception | None] = iter(answers)

    def submit(self, request: dict[str, Any], *, idempotency_key: str) -> None:
        assert idempotency_key == request["TrainingJobName"]
        answer = next(self._answers)
        if answer is not None:
            raise answer


class Now:
    """Random numbers without waits."""

    def uniform(self, _least: float, _most: float) -> float:
        return 0.0


def answered(*answers: Exception | None, names: str) -> Answers:
    told, user = Answers(), User(*answers)
    for name in names:
        told.submit(user, Now(), {"TrainingJobName": name})  # type: ignore[arg-type]
    return told


FULL = ConflictError("1 jobs wait for p, and 1 may (limits.waitingPerTeam): try again", status=409)


def test_who_is_throttled_asks_again_and_who_is_refused_is_told_why() -> None:
    told = answered(BusyError("later", status=429), None, FULL, NotReachableError("gone"), names="abc")
    assert told.accepted.keys() == {"a"}
    assert told.refused == {"b": FULL.message}
    assert told.lost.keys() == {"c"}
    assert told.throttles == {"429": 1}


def figures(told: Answers, listed: set[str], names: str) -> dict[str, Any]:
    requests = [{"TrainingJobName": name} for name in names]
    return found(
        told, listed=listed, looks=[(11.0, 3), (12.0, 0)], passes=2, began_s=10.0, took_s=2.0, requests=requests
    )


@pytest.mark.parametrize(
    ("listed", "lost", "kept"),
    [({"a"}, ["c"], []), (set(), ["a", "c"], []), ({"a", "b"}, ["c"], ["b"])],
)
def test_what_was_accepted_has_to_be_there_and_what_was_refused_not(
    listed: set[str], lost: list[str], kept: list[str]
) -> None:
    told = answered(None, FULL, NotReachableError("gone"), names="abc")
    seen = figures(told, listed, "abc")
    assert (seen["lost"], seen["kept though refused"]) == (lost, kept)
    assert seen["refused"] == {"limits.waitingPerTeam": 1}
    assert (seen["mostWakesWaiting"], seen["secondsUntilNoWakeWaits"]) == (3, 1.0)


@pytest.mark.parametrize(
    ("left", "now_s", "age_s"),
    [(0, 9.0, 0.0), (1, 9.0, 4.0), (3, 9.0, 8.0), (7, 9.0, 8.0), (1, 3.0, 0.0), (2, 0.5, 0.0)],
)
def test_the_oldest_wake_up_is_as_old_as_those_sent_since_are_left(left: int, now_s: float, age_s: float) -> None:
    assert oldest_age_s([1.0, 3.0, 5.0], left, now_s) == age_s


# -------------------------------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (Key("ledger", "pool#p"), "ledger pool"),
        (Key("ledger", ""), "ledger"),
        (Key("job#a", "request"), "job request"),
        (Key("line#p#t", "5#a"), "line"),
        (Key("config", "config"), "config"),
    ],
)
def test_a_place_is_a_partition_or_one_kind_of_the_ledgers_items(key: Key, place: str) -> None:
    assert place_of(key) == place


def test_units_by_place_are_all_units_there_are() -> None:
    counts: Counter[str] = Counter()
    table = PartitionMeter(MemoryTable(), lambda kind, number: counts.update({kind: int(number)}))
    key = Key("job#a", "job")
    job = {"pk": key.pk, "sk": key.sk, "listing": "waiting", "listingKey": "1", "jobName": "a"}
    table.write([Put(item=job), Put(item={"pk": "ledger", "sk": "pool#p", "t": "x" * 2000})])
    table.write([Update(key=key, sets={"listing": "holding"}), Check(key=Key("ledger", "pause#p"), requires=Absent())])
    table.write([Delete(key=key)])
    table.get(key)
    table.query("ledger", limit=5)
    table.listing("waiting", where=[Equals("jobName", "a")], after=None, limit=5)
    for kind, prefix in (("write units", WRITTEN), ("read units", READ)):
        assert counts[kind] == sum(number for name, number in counts.items() if name.startswith(prefix)) > 0
    assert counts[f"{WRITTEN}listing waiting"] == counts[f"{WRITTEN}listing holding"] == 2
    assert counts[f"{WRITTEN}ledger pause"] == 2


def test_the_tightest_place_is_told_first_and_a_jobs_own_items_never() -> None:
    units = {f"{WRITTEN}ledger pool": 2.0, f"{WRITTEN}ledger pause": 4.0, f"{READ}line": 30.0, f"{WRITTEN}job job": 9.0}
    told = bounds(units)
    assert [(bound.place, bound.a_second) for bound in told] == [
        ("line", 100.0),
        ("ledger", 166.7),
        ("ledger pause", 250.0),
        ("ledger pool", 500.0),
    ]


def test_starts_and_ends_meet_in_the_ledger_and_submissions_do_not_write_there(
    steps: dict[str, dict[str, float]],
) -> None:
    def written(step: str) -> float:
        return sum(number for name, number in steps[step].items() if name.startswith(f"{WRITTEN}ledger"))

    assert written("a submission") == written("a pass that starts nothing") == 0
    assert written("a pass that starts a job") > 0
    assert written("the news of a job") > 0


# --------------------------------------------------------------------------------------------------------------- whole


def test_all_parts_are_measured_told_and_judged(
    monkeypatch: pytest.MonkeyPatch, steps: dict[str, dict[str, float]]
) -> None:
    def use(waiting: int) -> dict[str, Any]:
        numbers = {operation: {"ms": float(waiting), READS: 1.0, CALLS: 0.0} for operation in OPERATIONS}
        return {"waiting": waiting, "fillS": 1.0, "peakMemoryMB": 50, **numbers}

    lost: list[str] = []
    submitted = {"lost": lost, "kept though refused": []}
    monkeypatch.setattr(scale, "measured_apart", lambda waiting, pools: use(waiting))
    monkeypatch.setattr(long_sandbox_queues, "measure", lambda lengths, rounds: [*map(use, lengths)])
    monkeypatch.setattr(burst, "measure", lambda _jobs, _clients: submitted)
    monkeypatch.setattr(scale, "units_of_steps", lambda _waiting, _rounds: steps)
    told: list[str] = []
    result = scale.measured(scale.QUICK, sandbox=True, tell=told.append)
    text = "\n".join(told)
    assert all(text.count(operation) >= 2 for operation in OPERATIONS)
    assert "5,000 waiting in memory beside 100" in text
    assert result["in memory"][0]["ratios"]["pass"]["ms"] == 50.0
    assert scale.lost(result) == []
    lost.append("a")
    assert scale.lost(result) == ["a was submitted and is not there"]
    json.dumps({"settings": asdict(scale.QUICK), **result})
