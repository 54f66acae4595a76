"""Sums of usage: each attempt and each job is in them once, whatever is repeated, skipped, reordered or fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.accounting.differences import OTHER
from headway.days import DAY_MS, Period, begin_ms, month_of
from headway.lifecycle import JobState
from headway.pool_names import billed_pool
from headway.prediction.run_times import RunTimes
from headway.reasons import ReasonCode
from headway_service.accounting import accountant as accountant_module
from headway_service.accounting.accountant import FORGOTTEN_SOON_S, Accountant
from headway_service.accounting.records import (
    BILLED,
    LOST_BILLED,
    LOST_UNBILLED,
    MAX_NAME_BYTES,
    MAX_NAMES,
    RUN,
    SAVED,
    UNBILLED,
    WAIT,
    MarkRecord,
    figures_in,
    name_in,
    names_key,
    partition,
    prefix,
    sum_key,
)
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.table import MAX_TRANSACTION_WRITES, Key, Put, Write
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import EndedAttempt, JobRecord, request_item, request_key
from headway_service.store.records.listed_job import Usage
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5

DAY = date(2026, 11, 25)
NOON_MS = begin_ms(DAY) + DAY_MS // 2
HOUR_MS = 3_600_000
LATER_MS = NOON_MS + 1000 * DAY_MS
"""When the table may have forgotten all jobs."""
G5 = "ml.g5.xlarge"


def attempt(number: int, *, since_ms: int = NOON_MS, length_ms: int = HOUR_MS, preempted: bool = False) -> EndedAttempt:
    code = ReasonCode.RETURNED_TO_LINE if preempted else ReasonCode.COMPLETED
    return EndedAttempt(
        attempt_name=f"a{number}",
        number=number,
        since_ms=since_ms,
        ended_ms=since_ms + length_ms,
        reason=ReasonRecord(code=code, message="so it is"),
        demand={P5: 2},
        lost_ms=length_ms // 2 if preempted else 0,
    )


def job(name: str, attempts: Sequence[EndedAttempt] = (), *, ended: bool = True, **changes: object) -> JobRecord:
    first = min((each.since_ms for each in attempts), default=NOON_MS)
    last = max((each.ended_ms for each in attempts), default=NOON_MS)
    fields: dict[str, object] = {
        "job_name": name,
        "job_state": JobState.COMPLETED if ended else JobState.RUNNING,
        "priority": 0,
        "entry_time": first - 60_000,
        "demand": {P5: 2},
        "team": "red",
        "owner": "ada",
        "usage": Usage(started_ms=first if attempts else None),
        "attempts": tuple(attempts),
        "reason": ReasonRecord(code=ReasonCode.COMPLETED, message="so it is"),
        "ended_ms": last if ended else None,
        "expires_at": last // 1000 if ended else None,
        "version": len(attempts) + 1 + ended,
    }
    return JobRecord.model_validate({**fields, **changes})


def sums(table: MemoryTable) -> dict[tuple[str, str], dict[str, int]]:
    """All sums, by partition and sort key."""
    return {
        (item["pk"], item["sk"]): figures_in(item)
        for item in table.items()
        if item["pk"].startswith("usage#") and item["sk"] != "names"
    }


def of_day(table: MemoryTable, dimension: str, day: date = DAY) -> dict[str, dict[str, int]]:
    period = Period(month=month_of(day), day=day)
    found = table.query(partition(dimension, period.month), prefix=prefix(period), limit=2000)
    return {name_in(item): figures_in(item) for item in found}


def accountant(
    table: MemoryTable, *tags: str, run_times: Callable[[], RunTimes] = lambda: RunTimes(0), now_ms: int = LATER_MS
) -> Accountant:
    return Accountant(table, lambda: tags, lambda: now_ms, run_times)


def expiry(table: MemoryTable, name: str = "a") -> object:
    """When the table may forget the request of a job, s since the epoch; None if that is not known."""
    return (table.get(request_key(name)) or {}).get("expiresAt")


EXPIRES_S = NOON_MS // 1000 + 30 * 86_400


def with_request(name: str = "a") -> MemoryTable:
    table = MemoryTable()
    table.write([Put(item=request_item(name, "{}"))])
    return table


def test_the_request_of_a_job_that_has_ended_is_forgotten_with_it() -> None:
    table = with_request()
    accountant(table, now_ms=NOON_MS).account([job("a", [attempt(1)], expires_at=EXPIRES_S)])
    assert expiry(table) == EXPIRES_S
    assert (table.get(request_key("a")) or {})["jobDetails"] == "{}"


def test_the_request_of_a_job_of_which_an_attempt_has_ended_is_kept() -> None:
    table = with_request()
    accountant(table, now_ms=NOON_MS).account([job("a", [attempt(1)], ended=False, expires_at=EXPIRES_S)])
    assert expiry(table) is None


def test_the_request_of_a_member_of_an_array_is_kept_with_the_array() -> None:
    table = MemoryTable()
    member = job("a-1", [attempt(1)], expires_at=EXPIRES_S, member_of="a", index=1)
    accountant(table, now_ms=NOON_MS).account([member])
    assert table.get(request_key("a-1")) is None


@pytest.mark.parametrize(("left_s", "written"), [(FORGOTTEN_SOON_S + 1, True), (FORGOTTEN_SOON_S, False), (-1, False)])
def test_the_request_of_a_job_that_may_be_replaced_soon_is_left_alone(left_s: int, written: bool) -> None:
    table = with_request()
    accountant(table, now_ms=NOON_MS).account([job("a", [attempt(1)], expires_at=NOON_MS // 1000 + left_s)])
    assert (expiry(table) is not None) is written
    assert of_day(table, "team")["red"]["jobs.completed"] == 1


def test_a_request_is_to_be_forgotten_before_the_mark_says_so() -> None:
    class Failing(MemoryTable):
        fails = True

        def write(self, writes: Sequence[Write]) -> None:
            if self.fails and any(each.key == MarkRecord.key("a") for each in writes if isinstance(each, Put)):
                raise RetryLater("the marks cannot be written")
            super().write(writes)

    table = Failing()
    table.write([Put(item=request_item("a", "{}"))])
    ended = job("a", [attempt(1)], expires_at=EXPIRES_S)
    with pytest.raises(RetryLater):
        accountant(table, now_ms=NOON_MS).account([ended])
    assert expiry(table) == EXPIRES_S
    table.fails = False
    assert accountant(table, now_ms=NOON_MS).account([ended]) == 1


def test_jobs_that_do_not_fit_into_a_transaction_have_their_requests_forgotten_before_any_mark() -> None:
    class Ordered(MemoryTable):
        marked = False

        def write(self, writes: Sequence[Write]) -> None:
            super().write(writes)
            if any(isinstance(each, Put) and each.key.sk == MarkRecord.key("").sk for each in writes):
                self.marked = True
            else:
                assert not self.marked

    table = Ordered()
    for number in range(60):
        MemoryTable.write(table, [Put(item=request_item(f"a{number}", "{}"))])
    jobs = [job(f"a{n}", [attempt(1)], team=f"t{n}", owner=f"o{n}", expires_at=EXPIRES_S) for n in range(60)]
    assert accountant(table, now_ms=NOON_MS).account(jobs) == 60
    assert {expiry(table, each.job_name) for each in jobs} == {EXPIRES_S}


def test_an_ended_job_is_in_the_sums_of_its_team_its_owner_and_its_pools() -> None:
    table = MemoryTable()
    assert accountant(table).account([job("a", [attempt(1)])]) == 1
    used = 2 * HOUR_MS
    expected = {
        "attempts": 1,
        "jobs.completed": 1,
        f"used.{P5}": used,
        f"billed.{P5}": used,
        **{name: 1 for name in of_day(table, "team")["red"] if name.startswith((WAIT, RUN))},
    }
    assert of_day(table, "team") == {"red": expected}
    assert of_day(table, "owner") == {"ada": expected}
    assert of_day(table, "pool") == {P5: expected}
    assert sum(name.startswith((WAIT, RUN)) for name in expected) == 2


def test_a_month_has_the_sums_of_its_days() -> None:
    table = MemoryTable()
    jobs = [job(f"j{day}", [attempt(1, since_ms=begin_ms(DAY) + day * DAY_MS)]) for day in range(-3, 9)]
    accountant(table).account(jobs)
    found: dict[tuple[str, str], Counter[str]] = {}
    months: dict[tuple[str, str], dict[str, int]] = {}
    for (pk, sk), figures in sums(table).items():
        day, _, name = sk.partition("#")
        if day == "00":
            months[pk, name] = figures
        else:
            found.setdefault((pk, name), Counter()).update(figures)
    assert months == {kept: dict(counted) for kept, counted in found.items()}
    assert len({pk for pk, _ in months}) == 2 * 3


def test_what_runs_past_midnight_is_split_and_its_end_counts_on_the_last_day() -> None:
    table = MemoryTable()
    late = attempt(1, since_ms=begin_ms(DAY) + 23 * HOUR_MS, length_ms=3 * HOUR_MS, preempted=True)
    accountant(table).account([job("a", [late], ended=False)])
    first, second = of_day(table, "pool")[P5], of_day(table, "pool", date(2026, 11, 26))[P5]
    assert first == {f"used.{P5}": 2 * HOUR_MS, f"billed.{P5}": 2 * HOUR_MS}
    lost = 2 * (3 * HOUR_MS // 2)
    more = {"attempts": 1, "preemptions": 1, f"lost.{P5}": lost, f"lostBilled.{P5}": lost}
    assert second == {f"used.{P5}": 4 * HOUR_MS, f"billed.{P5}": 4 * HOUR_MS, **more}


@example(since_ms=0, length_ms=0, lost=0.0, spot=False, billed=None, trained=None)
@given(
    since_ms=st.integers(0, 3 * DAY_MS),
    length_ms=st.integers(0, 3 * DAY_MS),
    lost=st.floats(0, 1),
    spot=st.booleans(),
    billed=st.none() | st.floats(0, 1),
    trained=st.none() | st.floats(0, 2),
)
def test_no_day_has_more_lost_time_than_is_billed_or_not_billed_and_an_attempt_has_all_of_it(
    since_ms: int, length_ms: int, lost: float, spot: bool, billed: float | None, trained: float | None
) -> None:
    billable_s = None if billed is None else int(length_ms * billed) // 1000
    trained_s = None if trained is None or not spot else int(length_ms * trained) // 1000
    changes = {"lost_ms": int(length_ms * lost), "spot": spot, "billable_s": billable_s, "trained_s": trained_s}
    ended = attempt(1, since_ms=since_ms, length_ms=length_ms).model_copy(update=changes)
    table = MemoryTable()
    accountant(table).account([job("a", [ended])])
    total = Counter[str]()
    for (pk, sk), figures in sums(table).items():
        priced = billed_pool(P5, spot=spot)
        assert figures.get(f"{LOST_BILLED}{priced}", 0) <= figures.get(f"{BILLED}{priced}", 0)
        assert figures.get(f"{LOST_UNBILLED}{priced}", 0) <= figures.get(f"{UNBILLED}{priced}", 0)
        if pk.startswith("usage#team#") and not sk.startswith("00#"):
            total.update(figures)
    kept = {LOST_BILLED: ended.lost_billed_ms, LOST_UNBILLED: ended.lost_unbilled_ms, SAVED: ended.saved_ms}
    assert {name: value for name, value in total.items() if name.startswith(tuple(kept))} == {
        f"{kind}{pool}": value for kind, times in kept.items() for pool, value in times.items() if value
    }


def test_each_pool_of_a_cluster_has_its_own_time_and_a_team_has_all() -> None:
    table = MemoryTable()
    both = attempt(1).model_copy(update={"demand": {P5: 1, G5: 3}})
    accountant(table).account([job("a", [both], demand={P5: 1, G5: 3})])
    pools, teams = of_day(table, "pool"), of_day(table, "team")
    assert {name: figures.get(f"used.{name}") for name, figures in pools.items()} == {P5: HOUR_MS, G5: 3 * HOUR_MS}
    assert f"used.{G5}" not in pools[P5]
    assert (teams["red"][f"used.{P5}"], teams["red"][f"used.{G5}"]) == (HOUR_MS, 3 * HOUR_MS)
    assert [figures["jobs.completed"] for figures in (*pools.values(), teams["red"])] == [1, 1, 1]


def test_an_attempt_counts_for_the_team_that_it_was_charged_to_whenever_it_is_accounted_for() -> None:
    first, second = attempt(1, preempted=True), attempt(2, since_ms=NOON_MS + 2 * HOUR_MS)
    before = job("a", [first], ended=False)
    after = job("a", [*before.charged_attempts(), second], team="blue")
    accounted = []
    for records in ([before, after], [after]):
        table = MemoryTable()
        for record in records:
            accountant(table).account([record])
        accounted.append(of_day(table, "team"))
    assert accounted[0] == accounted[1]
    assert {name: figures["attempts"] for name, figures in accounted[0].items()} == {"red": 1, "blue": 1}
    assert "jobs.completed" not in accounted[0]["red"]


def test_a_job_without_an_attempt_has_no_wait_and_no_run() -> None:
    table = MemoryTable()
    accountant(table).account([job("a", job_state=JobState.STOPPED)])
    assert of_day(table, "pool") == {P5: {"jobs.stopped": 1}}


def test_an_array_counts_by_its_members_only() -> None:
    table = MemoryTable()
    array = job("a", array={"count": 2, "at_once": 1, "team": "", "demand": {}})
    assert accountant(table).account([array]) == 0
    assert sums(table) == {}


def test_an_attempt_that_was_never_launched_is_no_attempt() -> None:
    table = MemoryTable()
    accountant(table).account([job("a", [attempt(1).model_copy(update={"demand": {}})], ended=False)])
    assert sums(table) == {}


def test_sums_by_tag_are_kept_only_for_the_tags_of_the_policy() -> None:
    table = MemoryTable()
    tags = [{"Key": "project", "Value": "llm"}, {"Key": "secret", "Value": "x"}]
    for name, listed in (("a", tags), ("b", [])):
        table.write([Put(item=request_item(name, json.dumps({"Tags": listed})))])
    accountant(table, "project").account([job("a", [attempt(1)]), job("b", [attempt(1)])])
    assert {name: each["attempts"] for name, each in of_day(table, "tag:project").items()} == {"llm": 1, "": 1}
    assert {pk.split("#")[1] for pk, _ in sums(table)} == {"team", "owner", "pool", "tag:project"}


# ---------------------------------------------------------------------------------------------- once in effect
def lives() -> list[list[JobRecord]]:
    """The records of three jobs, in the order in which they were written."""
    written = []
    for index, name in enumerate("abc"):
        attempts = [
            attempt(number, since_ms=NOON_MS + (number * 5 + index) * 3 * HOUR_MS, preempted=number < 3)
            for number in (1, 2, 3)
        ]
        records = [job(name, attempts[:count], ended=False) for count in range(4)]
        written.append([*records, job(name, attempts)])
    return written


def once() -> dict[tuple[str, str], dict[str, int]]:
    table = MemoryTable()
    for records in lives():
        accountant(table).account([records[-1]])
    return sums(table)


class Crashing(MemoryTable):
    """A table that loses answers: a write is refused before, or its answer is lost after, it was carried out."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__()
        self.faults = list(faults)

    def write(self, writes: Sequence[Write]) -> None:
        assert len(writes) <= MAX_TRANSACTION_WRITES
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise RetryLater("not now")
        super().write(writes)
        if fault == "after":
            raise RetryLater("the answer is lost")


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=6), max_size=12),
    st.lists(st.sampled_from(["", "before", "after"]), max_size=20),
    st.booleans(),
)
def test_whatever_is_repeated_skipped_reordered_or_interrupted_is_in_the_sums_once(
    batches: list[list[tuple[int, int]]], faults: list[str], one_process: bool
) -> None:
    table, records = Crashing(faults), lives()
    lasting = accountant(table)
    batches = [*batches, [(index, 4) for index in range(3)]]
    for batch in batches:
        while True:
            try:
                keeper = lasting if one_process else accountant(table)
                keeper.account([records[index][number] for index, number in batch])
                break
            except RetryLater:
                continue
    assert sums(table) == once()


def test_a_record_that_comes_again_changes_nothing_and_costs_no_write() -> None:
    table = Crashing([])
    whole = job("a", [attempt(1)])
    accountant(table).account([whole])
    before = sums(table)
    table.faults = ["before"]
    assert accountant(table).account([whole, whole]) == 0
    assert sums(table) == before


def overtaken(table: MemoryTable, act: Callable[[], object]) -> None:
    """Let something happen just before the next write to the table."""
    write = table.write

    def late(writes: Sequence[Write]) -> None:
        table.write = write  # type: ignore[method-assign]
        act()
        write(writes)

    table.write = late  # type: ignore[method-assign]


def test_two_processes_with_the_same_record_add_it_once() -> None:
    table = MemoryTable()
    one, other = accountant(table), accountant(table)
    # Both know the names, so that only the mark shows that the other one was first.
    one.account([job("first", [attempt(1)])])
    other.account([job("second", [attempt(1)])])
    overtaken(table, lambda: other.account([job("a", [attempt(1)])]))
    assert one.account([job("a", [attempt(1)]), job("b", [attempt(1)])]) == 1
    assert of_day(table, "team")["red"]["attempts"] == 4


def test_two_processes_with_the_same_new_name_count_it_once() -> None:
    table = MemoryTable()
    one, other = accountant(table), accountant(table)
    overtaken(table, lambda: other.account([job("a", [attempt(1)])]))
    one.account([job("b", [attempt(1)])])
    item = table.get(names_key("owner", "2026-11"))
    assert item is not None
    assert item["names"] == 1
    assert of_day(table, "owner")["ada"]["attempts"] == 2


def test_a_table_that_always_conflicts_is_tried_again_later() -> None:
    table = MemoryTable()

    def conflict(writes: Sequence[Write]) -> None:
        raise Conflict([0])

    table.write = conflict  # type: ignore[method-assign]
    with pytest.raises(RetryLater):
        accountant(table).account([job("a", [attempt(1)])])


def test_a_long_attempt_takes_several_transactions_and_continues_after_a_crash_between_them() -> None:
    long = attempt(1, length_ms=27 * DAY_MS)
    whole = Crashing([])
    accountant(whole).account([job("a", [long])])
    table = Crashing(["after", "before"])
    for _ in range(2):
        with pytest.raises(RetryLater):
            accountant(table).account([job("a", [long])])
    item = table.get(MarkRecord.key("a"))
    assert item is not None
    assert (MarkRecord.parse(item).partial, MarkRecord.parse(item).attempts) == (1, 0)
    accountant(table).account([job("a", [long])])
    assert sums(table) == sums(whole)
    used = [figures.get(f"used.{P5}", 0) for (pk, sk), figures in sums(table).items() if sk.startswith("00#")]
    assert sum(used) == 3 * 2 * 27 * DAY_MS


def test_a_later_job_of_the_same_name_is_added_and_an_earlier_one_is_no_longer() -> None:
    table = MemoryTable()
    first = job("a", [attempt(1), attempt(2, since_ms=NOON_MS + HOUR_MS)])
    later = job("a", [attempt(1, since_ms=NOON_MS + 3 * HOUR_MS)])
    assert [accountant(table).account([each]) for each in (first, later, first, later)] == [1, 1, 0, 0]
    assert (of_day(table, "team")["red"]["jobs.completed"], of_day(table, "team")["red"]["attempts"]) == (2, 3)


def test_a_mark_outlives_its_job() -> None:
    table = MemoryTable()
    running = job("a", [attempt(1)], ended=False)
    accountant(table).account([running])
    item = table.get(MarkRecord.key("a"))
    assert item is not None
    assert "expiresAt" not in item
    ended = job("a", [attempt(1)])
    accountant(table).account([ended])
    item = table.get(MarkRecord.key("a"))
    assert item is not None
    assert ended.expires_at is not None
    assert item["expiresAt"] == ended.expires_at + 7 * 86_400


@pytest.mark.parametrize("before_read", range(1, 8))
def test_a_name_that_another_process_adds_between_two_reads_is_counted_once(before_read: int) -> None:
    table = MemoryTable()
    one, other = accountant(table), accountant(table)
    read, reads = table.get, count(1)

    def late(key: Key) -> Any:
        if next(reads) == before_read:
            table.get = read  # type: ignore[method-assign]
            other.account([job("a", [attempt(1)])])
        return read(key)

    table.get = late  # type: ignore[method-assign]
    one.account([job("b", [attempt(1)])])
    assert next(reads) > before_read, "the other one has come between"
    for dimension in ("owner", "team", "pool"):
        item = table.get(names_key(dimension, "2026-11"))
        assert item is not None
        assert item["names"] == 1


# ---------------------------------------------------------------------------------------------- bounded
def test_names_beyond_the_limit_of_a_month_share_one_sum() -> None:
    table = MemoryTable()
    keeper = accountant(table)
    number_of_jobs = MAX_NAMES + 30
    jobs = [job(f"j{number}", [attempt(1)], owner=f"o{number}") for number in range(number_of_jobs)]
    for begin in range(0, number_of_jobs, 7):
        keeper.account(jobs[begin : begin + 7])
    found = of_day(table, "owner")
    assert len(found) == MAX_NAMES + 1
    assert found[OTHER]["attempts"] == 30
    assert sum(each["attempts"] for each in found.values()) == number_of_jobs
    item = table.get(names_key("owner", "2026-11"))
    assert item is not None
    assert item["names"] == MAX_NAMES
    accountant(table).account([job("again", [attempt(1)], owner="o3")])
    assert of_day(table, "owner")["o3"]["attempts"] == 2


def test_a_long_name_is_kept_by_its_digest() -> None:
    table = MemoryTable()
    period = Period(month="2026-11", day=DAY)
    assert sum_key("owner", period, "a" * MAX_NAME_BYTES).sk == "25#" + "a" * MAX_NAME_BYTES
    accountant(table).account([job("a", [attempt(1)], owner="ü" * MAX_NAME_BYTES)])
    (name,) = of_day(table, "owner")
    assert name.startswith("sha256:")


def test_a_usual_job_costs_seven_writes_in_one_transaction() -> None:
    table = MemoryTable()
    keeper = accountant(table)
    keeper.account([job("first", [attempt(1)])])
    sizes: list[int] = []
    write = table.write
    table.write = lambda writes: (sizes.append(len(writes)), write(writes))[1]  # type: ignore[func-returns-value, method-assign]
    keeper.account([job("a", [attempt(1)])])
    assert sizes == [7]
    sizes.clear()
    keeper.account([job(f"j{number}", [attempt(1)]) for number in range(50)])
    assert sizes == [6 + 50]


def test_sums_expire_days_before_months() -> None:
    table = MemoryTable()
    accountant(table).account([job("a", [attempt(1)])])
    day = table.get(sum_key("team", Period(month="2026-11", day=DAY), "red"))
    month = table.get(sum_key("team", Period(month="2026-11"), "red"))
    assert day is not None
    assert month is not None
    assert day["expiresAt"] == begin_ms(DAY) // 1000 + 400 * 86_400
    assert month["expiresAt"] == begin_ms(date(2026, 11, 1)) // 1000 + 3660 * 86_400
    assert table.get(Key("usage#team#2026-11", "names")) is not None
    assert accountant_module.MAX_TOGETHER <= MAX_TRANSACTION_WRITES
