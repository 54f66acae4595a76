"""A long queue is not counted by each submission, and is limited all the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as count_from

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.job_terms import owner_hash
from headway_service.admission.queues import counts as queue_counts
from headway_service.admission.queues import limits as queue_limits
from headway_service.admission.queues import recounts as queue_recounts
from headway_service.admission.queues.recounts import COUNTED_EACH_MS, QueueRecounts
from headway_service.config.authorization import Caller
from headway_service.errors import QueueFull, RetryLater
from headway_service.pools.apply_config import apply_configuration
from headway_service.ports.table import Delete, Equals, Item, Key, Put, Tally, Write
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from headway_service.store.queue_tail import MAX_TAIL
from headway_service.store.records import queue_count
from headway_service.store.records.queue_count import (
    MAX_COUNT_AGE_MS,
    MAX_COUNTED_EACH_TIME,
    MAX_COUNTED_OWNERS,
    QueueCountRecord,
    is_count,
)
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, ROOT, World, request

LINE = QueueEntry.partition(P5)
KEY = QueueCountRecord.key(LINE)
LONG = MAX_COUNTED_EACH_TIME + 20


class CountingTable(MemoryTable):
    """Counts the entries that are counted, and may refuse writes."""

    def __init__(self) -> None:
        super().__init__()
        self.tallied = 0
        self.refuses_counts = False

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        tally = super().tally(pk, where, before=before, limit=limit)
        self.tallied += tally.items
        return tally

    def write(self, writes: Sequence[Write]) -> None:
        if self.refuses_counts and writes[0].key == KEY:
            raise RetryLater("busy")
        super().write(writes)


class Queue(World):
    """A queue whose jobs all wait.

    Args:
        waiting: how many jobs wait in it, of many owners.
        per_team: the limit of all jobs.
        per_owner: the limit of each owner's.
    """

    def __init__(self, waiting: int = 0, per_team: int = 1000, per_owner: int = 1000) -> None:
        self.counting = CountingTable()
        super().__init__(table=self.counting, pools={P5: 1})
        limits = {"waitingPerTeam": per_team, "waitingPerOwner": per_owner}
        self.configuration.write({"pools": {P5: {"size": 1}}, "limits": limits})
        self.configured()
        self.recounts = QueueRecounts(self.table, self.machine_clock)
        self.submitted = 0
        self.fill(waiting, "someone")

    def fill(self, number: int, owner: str, team: str = "") -> None:
        """Add entries as submissions of older code would."""
        for _ in range(number):
            self.submitted += 1
            entry = QueueEntry(
                pool=P5,
                job_name=f"old-{self.submitted:05}",
                demand={P5: 1},
                priority=1,
                entry_time=0,
                owned_by=owner_hash(owner),
                team=team,
            )
            self.table.write([entry.put()])

    def enter(self, owner: Caller = ADA) -> None:
        self.submitted += 1
        self.submitter.submit(request(f"job-{self.submitted}"), owner)

    def count(self) -> None:
        self.recounts.run_if_due(read_ledger(self.table), self.machine_clock() + 1)

    def stored(self) -> QueueCountRecord | None:
        item = self.table.get(KEY)
        return QueueCountRecord.parse(item) if item is not None and is_count(item) else None

    def owners(self) -> Counter[str]:
        return Counter(item["ownedBy"] for item in self.table.query(LINE, limit=10_000))


def tallied(queue: Queue, owner: Caller = ADA) -> int:
    """How many entries the next submission counts."""
    before = queue.counting.tallied
    queue.enter(owner)
    return queue.counting.tallied - before


@pytest.mark.parametrize("waiting", [LONG, 3 * LONG])
def test_a_submission_counts_as_few_entries_however_many_wait(waiting: int) -> None:
    queue = Queue(waiting)
    queue.count()
    assert tallied(queue) == tallied(queue) == MAX_COUNTED_EACH_TIME - MAX_TAIL
    count = queue.stored()
    assert count is not None
    assert count.items == waiting + 2 == queue.owners().total()


def test_a_submission_counts_a_long_queue_that_was_not_counted_yet_and_the_next_one_does_not() -> None:
    queue = Queue(3 * LONG)
    assert tallied(queue) > 2 * LONG
    assert tallied(queue) < LONG


@pytest.mark.parametrize(
    ("passes_ms", "counts"), [(0, False), (MAX_COUNT_AGE_MS, False), (MAX_COUNT_AGE_MS + 1, True)], ids=str
)
def test_an_old_count_is_not_used(passes_ms: int, counts: bool) -> None:
    queue = Queue(3 * LONG)
    queue.count()
    queue.now_s += passes_ms / 1000
    assert (tallied(queue) > 2 * LONG) is counts


@pytest.mark.parametrize(("room", "counts"), [(0, True), (1, False)], ids=["no room", "room for one"])
def test_near_the_limit_of_a_team_the_queue_is_counted(room: int, counts: bool) -> None:
    queue = Queue(2 * LONG, per_team=2 * LONG + 2)
    queue.count()
    queue.table.write([QueueCountRecord.of(["someone"] * (2 * LONG + 2 - room), queue.machine_clock()).put(LINE)])
    assert (tallied(queue) > LONG) is counts
    corrected = queue.stored()
    assert corrected is not None
    assert corrected.items == 2 * LONG + 1 + (0 if counts else 1)


@pytest.mark.parametrize(
    ("owner", "of_owner", "counts"),
    [
        (ADA, LONG, True),
        (ADA, LONG - 1, False),
        # The next ones have no number of their own.
        (BOB, LONG, False),
        (replace(ADA, arn=f"{ADA.arn}-session"), LONG, False),
    ],
    ids=["full", "room for one", "another owner", "another session"],
)
def test_near_the_limit_of_an_owner_the_queue_is_counted(owner: Caller, of_owner: int, counts: bool) -> None:
    queue = Queue(2 * LONG, per_owner=LONG)
    owners = [owner_hash("someone")] * 2 * LONG + [owner_hash(ADA.arn)] * of_owner
    queue.table.write([QueueCountRecord.of(owners, queue.machine_clock()).put(LINE)])
    assert (tallied(queue, owner) > LONG) is counts


def test_an_owner_whose_number_was_not_known_is_counted_once() -> None:
    queue = Queue(2 * LONG, per_owner=LONG)
    queue.table.write([QueueCountRecord(items=2 * LONG, counted_ms=queue.machine_clock(), others=LONG).put(LINE)])
    assert tallied(queue) > LONG
    assert tallied(queue) < LONG


def test_an_owner_is_limited_by_jobs_that_entered_while_the_queue_was_short() -> None:
    most = MAX_TAIL + 4
    queue = Queue(LONG, per_owner=most)
    queue.enter()
    queue.count()
    for item in queue.table.query(LINE, limit=LONG):
        queue.table.write([Delete(key=Key(item["pk"], item["sk"]))])
    for _ in range(most - 1):
        queue.enter()
    queue.fill(LONG, "someone")
    with pytest.raises(QueueFull, match=f"{most} of your jobs"):
        queue.enter()


@pytest.mark.parametrize("waiting", [0, MAX_TAIL, MAX_COUNTED_EACH_TIME - 2])
def test_a_submission_to_a_short_queue_writes_no_count(waiting: int) -> None:
    queue = Queue(waiting)
    queue.enter()
    assert queue.table.get(KEY) is None


def test_a_refusal_rests_on_a_count_and_not_on_a_number_that_has_drifted() -> None:
    queue = Queue(2 * LONG, per_team=2 * LONG + 1)
    queue.table.write([QueueCountRecord.of(["someone"] * 9 * LONG, queue.machine_clock()).put(LINE)])
    queue.enter()
    with pytest.raises(QueueFull, match=f"{2 * LONG + 1} jobs wait"):
        queue.enter()


@pytest.mark.parametrize("repaired_by", ["time", "minute"])
def test_a_number_that_is_too_low_lets_jobs_in_until_the_next_count_only(repaired_by: str) -> None:
    queue = Queue(2 * LONG, per_team=2 * LONG)
    queue.table.write([QueueCountRecord.of(["someone"] * LONG, queue.machine_clock()).put(LINE)])
    queue.enter()
    queue.now_s += (MAX_COUNT_AGE_MS + 1) / 1000 if repaired_by == "time" else 0
    if repaired_by == "minute":
        queue.count()
    with pytest.raises(QueueFull):
        queue.enter()


@pytest.mark.parametrize("is_left", [False, True], ids=["nothing is left of it", "a correction is left of it"])
def test_nothing_is_added_to_a_count_that_was_deleted(*, is_left: bool) -> None:
    queue = Queue(3 * LONG)
    queue.count()
    known = queue.stored()
    context = queue.submitter.context(ADA)
    queue.submitter.enqueue(request("mine"), context)
    queue.table.write([Delete(key=KEY)])
    assert known is not None
    if is_left:
        queue.table.write([known.correct(LINE, 3 * LONG, "someone", LONG, queue.machine_clock())])
    before = queue.table.get(KEY)
    context.limits.store_counts()
    assert queue.table.get(KEY) == before
    assert queue.stored() is None
    assert tallied(queue) > 2 * LONG


OTHERS = [owner_hash(f"other-{number}") for number in range(MAX_COUNTED_OWNERS)]
MINE = owner_hash(ADA.arn)
RECOUNTS: list[tuple[str, list[str], list[str]]] = [
    # what was counted before the submission, and since
    ("the owner had a number", [MINE] * 400, [each for each in OTHERS for _ in range(401)] + [MINE] * 400),
    ("the owner has a number", [each for each in OTHERS for _ in range(401)] + [MINE] * 400, [MINE] * 400),
    ("the owner had a number and has one", [MINE] * 400, [MINE] * 400),
    ("the owner has none", [each for each in OTHERS for _ in range(401)] + [MINE] * 400, OTHERS * 402 + [MINE] * 400),
]


@pytest.mark.parametrize(("before", "since"), [row[1:] for row in RECOUNTS], ids=[row[0] for row in RECOUNTS])
def test_a_job_that_enters_while_its_queue_is_counted_again_is_added_to_the_new_count(
    before: list[str], since: list[str]
) -> None:
    queue = Queue(2 * LONG, 10_000, 10_000)
    queue.table.write([QueueCountRecord.of(before, queue.machine_clock()).put(LINE)])
    context = queue.submitter.context(ADA)
    queue.submitter.enqueue(request("mine"), context)
    queue.table.write([QueueCountRecord.of(since, queue.machine_clock() + 1).put(LINE)])
    context.limits.store_counts()
    count = queue.stored()
    assert count is not None
    assert count.items == len(since) + 1
    assert count.of_owner(MINE) >= 401


def test_a_job_is_not_added_if_its_queue_is_counted_once_more_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(2 * LONG)
    queue.count()
    context = queue.submitter.context(ADA)
    queue.submitter.enqueue(request("mine"), context)
    write, counted_ms = queue.table.write, count_from(queue.machine_clock() + 1)

    def counted_first(writes: Sequence[Write]) -> None:
        write([QueueCountRecord.of(["someone"] * LONG, next(counted_ms)).put(LINE)])
        write(writes)

    monkeypatch.setattr(queue.table, "write", counted_first)
    context.limits.store_counts()
    count = queue.stored()
    assert count is not None
    assert count.items == LONG


def test_a_count_that_cannot_be_stored_fails_no_submission() -> None:
    queue = Queue(LONG)
    queue.counting.refuses_counts = True
    queue.enter()
    assert queue.stored() is None
    assert queue.owners()[owner_hash(ADA.arn)] == 1


def test_a_released_job_is_added_to_the_count() -> None:
    queue = Queue(LONG)
    queue.enter()
    queue.commands.hold(f"job-{queue.submitted}", ADA)
    queue.count()
    queue.commands.release(f"job-{queue.submitted}", ADA)
    count = queue.stored()
    assert count is not None
    assert count.items == LONG + 1


def test_a_job_that_goes_to_another_team_is_added_to_the_count_of_its_queue() -> None:
    queue = Queue()
    queue.configuration.write({"pools": {P5: {"size": 1}}, "teams": {"a": {}, "b": {}}})
    apply_configuration(queue.table, queue.configuration.first, queue.clocks)
    queue.fill(LONG, "someone", "b")
    queue.count()
    queue.submitter.submit(request("mine", Tags=[{"Key": "team", "Value": "a"}]), ADA)
    queue.changes.change("mine", RequestChange(tags={"team": "b"}), ADA)
    count = QueueCountRecord.parse(queue.table.get(QueueCountRecord.key(QueueEntry.partition(P5, "b"))) or {})
    assert count.items == LONG + 1


def test_a_dry_run_adds_nothing() -> None:
    queue = Queue(LONG)
    queue.count()
    queue.forecast_service.dry_run(request("maybe"), ADA)
    count = queue.stored()
    assert count is not None
    assert count.items == LONG


@pytest.mark.parametrize(("waiting", "is_stored"), [(MAX_COUNTED_EACH_TIME - 1, False), (MAX_COUNTED_EACH_TIME, True)])
def test_only_long_queues_are_counted_in_the_background(waiting: int, is_stored: bool) -> None:
    queue = Queue(waiting)
    queue.count()
    assert (queue.stored() is not None) is is_stored


@pytest.mark.parametrize(("passes_ms", "again"), [(COUNTED_EACH_MS - 1000, False), (COUNTED_EACH_MS, True)])
def test_queues_are_counted_from_time_to_time(passes_ms: int, again: bool) -> None:
    queue = Queue(LONG)
    queue.count()
    queue.fill(1, "someone")
    queue.now_s += passes_ms / 1000
    queue.count()
    count = queue.stored()
    assert count is not None
    assert (count.items == LONG + 1) is again


def test_queues_are_counted_later_if_the_table_does_not_answer_or_no_time_is_left() -> None:
    queue = Queue(LONG)
    queue.counting.refuses_counts = True
    queue.count()
    queue.counting.refuses_counts = False
    queue.recounts.run_if_due(read_ledger(queue.table), queue.machine_clock())
    assert queue.stored() is None
    queue.count()
    assert queue.stored() is not None


def test_a_run_without_time_for_all_queues_is_continued_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue()
    queue.configuration.write({"pools": {P5: {"size": 1}, "ml.g5.xlarge": {"size": 1}}, "teams": {"a": {}}})
    queue.tick()
    counted: list[str] = []

    def count(partition: str, *_: object, **__: object) -> int:
        counted.append(partition)
        queue.now_s += 5
        if len(counted) == 2:
            raise RetryLater("x")
        return 0

    monkeypatch.setattr(queue.table, "count_before", count)
    for _ in range(6):
        queue.recounts.run_if_due(read_ledger(queue.table), queue.machine_clock() + 5000)
    assert len(counted) == 5, "the next round is not due yet"
    assert counted[1] == counted[4], "the one without an answer is counted last"
    assert len(set(counted)) == 4
    queue.now_s += COUNTED_EACH_MS / 1000
    queue.recounts.run_if_due(read_ledger(queue.table), queue.machine_clock() + 5000)
    assert counted[5] == counted[0]


def test_the_owners_with_the_most_jobs_have_numbers_of_their_own_and_the_others_the_largest_of_theirs() -> None:
    owners = [f"{number:03}" for number in range(MAX_COUNTED_OWNERS + 5) for _ in range(200 + number)]
    count = QueueCountRecord.of(owners, 0)
    assert (count.of_owner("024"), count.of_owner("005"), count.of_owner("004"), count.of_owner("new")) == (
        *(224, 205, 204),
        204,
    )
    assert len(count.owners) == MAX_COUNTED_OWNERS


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.sampled_from(["ada", "bob", "cem", "leave", "leave all", "count", "expire", "batch"]),
        min_size=30,
        max_size=150,
    )
)
def test_no_limit_is_passed_and_no_job_refused_that_fits(steps: Sequence[str]) -> None:
    long, per_team, per_owner = MAX_TAIL + 2, MAX_TAIL + 12, MAX_TAIL + 4
    callers = {"ada": ADA, "bob": BOB, "cem": replace(ADA, arn=f"{ADA.arn}-cem"), "batch": ADA}
    with pytest.MonkeyPatch.context() as patch:
        for module in (queue_count, queue_counts, queue_limits, queue_recounts):
            patch.setattr(module, "MAX_COUNTED_EACH_TIME", long)
        queue = Queue(0, per_team, per_owner)
        for step in steps:
            waiting: tuple[Item, ...] = queue.table.query(LINE, limit=100)
            match step:
                case "leave" | "leave all":
                    for item in waiting[: 1 if step == "leave" else None]:
                        queue.commands.stop(item["jobName"], ROOT)
                case "count":
                    queue.recounts = QueueRecounts(queue.table, queue.machine_clock)
                    queue.count()
                case "expire":
                    queue.table.write([Delete(key=KEY)])
                case _:
                    owner = callers[step]
                    for _ in range(4 if step == "batch" else 1):
                        owners = queue.owners()
                        fits = owners.total() < per_team and owners[owner_hash(owner.arn)] < per_owner
                        try:
                            queue.enter(owner)
                        except QueueFull:
                            assert not fits
                        else:
                            assert fits


def test_no_owner_is_added_to_a_count_that_has_the_most() -> None:
    table = MemoryTable()
    owners = [str(number) for number in range(MAX_COUNTED_OWNERS)]
    count = QueueCountRecord.of(owners, 0)
    table.write([count.put(LINE)])
    for owner in ("new", owners[0]):
        table.write([count.correct(LINE, 500, owner, 400, 0)])
    stored = QueueCountRecord.parse(table.get(KEY) or {})
    assert {*stored.owners} == {*owners}
    assert (stored.items, stored.of_owner(owners[0])) == (500, 400)


def test_a_count_stays_within_a_write_unit() -> None:
    owners = [owner_hash(str(number)) for number in range(2 * MAX_COUNTED_OWNERS) for _ in range(200)]
    put = QueueCountRecord.of(owners, 1_800_000_000_000).put(QueueEntry.partition("ml.p5.48xlarge", "t" * 63))
    assert isinstance(put, Put)
    assert len(json.dumps(put.item)) < 1024
