"""The sums of a day are compared with the jobs: too much is found as well as too little, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.differences import differences
from headway.days import DAY_MS, Period, begin_ms, month_of
from headway.lifecycle import JobState
from headway_service.accounting import compare
from headway_service.accounting.compare import ComparedPage, ScannedJob, compare_day
from headway_service.accounting.records import IDLE, IDLE_RESERVED, MAX_NAME_BYTES, MarkRecord, add_figures, sum_key
from headway_service.api.routes.usage import MAX_TOKEN_CHARS
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Item, Key, Update
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import DAY, G5, HOUR_MS, NOON_MS, accountant, attempt, job
from tests.service.world import P5

NOW_MS = begin_ms(DAY) + 5 * DAY_MS
RETENTION_S = 30 * 86_400


def page_of(table: MemoryTable, by: str, day: date, token: str | None, **more: int) -> ComparedPage:
    return compare_day(
        table, by, day, token, **{"now_ms": NOW_MS, "machine_ms": NOW_MS, "retention_s": RETENTION_S, **more}
    )


def scan(
    table: MemoryTable, by: str = "team", day: date = DAY, between: Callable[[], None] = lambda: None
) -> ComparedPage:
    """All pages as one; `between` runs after each page."""
    jobs: list[ScannedJob] = []
    scanned, token, keeps_earlier = 0, None, False
    while True:
        page = page_of(table, by, day, token)
        scanned, token, keeps_earlier = scanned + page.scanned, page.token, keeps_earlier or page.keeps_earlier
        jobs += page.jobs
        if token is None:
            return replace(page, scanned=scanned, jobs=tuple(jobs), keeps_earlier=keeps_earlier)
        between()


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two items."""
    monkeypatch.setattr(compare, "MAX_SCANNED", 2)


def found(page: ComparedPage) -> list[tuple[str, str, int]]:
    """What the sums have too much (or, below 0, too little)."""
    return [
        (each.name, each.figure, each.stored - each.computed)
        for each in differences(page.stored or {}, [each.sums for each in page.jobs])
    ]


def filled(*jobs: JobRecord) -> MemoryTable:
    """A table with jobs, all accounted for."""
    table = MemoryTable()
    table.write([each.put() for each in jobs])
    accountant(table).account(jobs)
    return table


@st.composite
def some_jobs(draw: st.DrawFn) -> list[JobRecord]:
    """Jobs around the day, some of which still run."""
    jobs = []
    for number in range(draw(st.integers(0, 6))):
        begin_h, length_h = draw(st.integers(-60, 40)), draw(st.integers(0, 50))
        attempts = [
            attempt(i, since_ms=NOON_MS + (begin_h + i * 60) * HOUR_MS, length_ms=length_h * HOUR_MS, preempted=i == 1)
            for i in range(1, draw(st.integers(0, 2)) + 1)
        ]
        demand = draw(st.sampled_from([{P5: 2}, {P5: 1, G5: 3}]))
        attempts = [each.model_copy(update={"demand": demand}) for each in attempts]
        team, ended = draw(st.sampled_from(["red", "blue", ""])), draw(st.booleans())
        jobs.append(job(f"j{number}", attempts, ended=ended, team=team, demand=demand, attempt_count=len(attempts) + 1))
    return jobs


def test_idle_time_of_a_pool_is_not_compared_with_the_jobs() -> None:
    table = filled(job("a", [attempt(1)]))
    idle = {f"{IDLE}{P5}": 5, f"{IDLE_RESERVED}{P5}": 2}
    table.write([add_figures("pool", Period(month=month_of(DAY), day=DAY), P5, idle)])
    page = scan(table, "pool")
    assert (page.changed, found(page)) == (False, [])


@given(some_jobs(), st.sampled_from(["team", "owner", "pool"]), st.integers(-4, 4))
def test_jobs_that_are_accounted_for_have_exactly_what_the_sums_have(
    jobs: list[JobRecord], by: str, offset: int
) -> None:
    page = scan(filled(*jobs), by, DAY + timedelta(days=offset))
    assert found(page) == []
    assert not page.changed


@pytest.mark.parametrize("by", ["team", "owner", "pool"])
@pytest.mark.parametrize("more", [1, -1])
def test_too_much_and_too_little_are_found(by: str, more: int) -> None:
    table = filled(job("a", [attempt(1)]), job("b", [attempt(1)], ended=False, attempt_count=1))
    name = {"team": "red", "owner": "ada", "pool": P5}[by]
    key = sum_key(by, Period(month=month_of(DAY), day=DAY), name)
    table.write([Update(key=key, adds={"attempts": more})])
    assert found(scan(table, by)) == [(name, "attempts", more)]


def test_a_job_that_has_gone_to_another_team_has_its_attempts_in_the_teams_that_were_charged() -> None:
    before = job("a", [attempt(1, preempted=True)], ended=False, job_state=JobState.PREEMPTED, attempt_count=1)
    table = filled(before)
    moved = before.model_copy(update={"team": "blue", "attempts": before.charged_attempts()})
    again = job("a", [*moved.attempts, attempt(2, since_ms=NOON_MS + 2 * HOUR_MS)], team="blue", attempt_count=2)
    table.write([again.put()])
    accountant(table).account([again])
    page = scan(table)
    assert {*(page.stored or {})} == {"red", "blue"}
    assert found(page) == []


def test_a_sum_without_a_job_is_too_much() -> None:
    table = filled(job("a", [attempt(1)]))
    accountant(table).account([job("forgotten", [attempt(1)], team="blue")])
    assert ("blue", "attempts", 1) in found(scan(table))


def test_what_the_marks_lack_is_lacking_on_both_sides() -> None:
    table = filled(job("a", [attempt(1)]))
    table.write([job("late", [attempt(1)]).put()])
    page = scan(table)
    assert found(page) == []
    assert [each.job for each in page.jobs] == ["a"]


@pytest.mark.parametrize("accepted_ms", [1, NOW_MS])
def test_the_mark_of_another_job_of_that_name_says_nothing_of_this_one(accepted_ms: int) -> None:
    table = filled()
    mark = MarkRecord(job_name="a", accepted_ms=accepted_ms, attempts=1, ended=True)
    table.write([mark.put(), job("a", [attempt(1)]).put()])
    assert scan(table).jobs == ()


@pytest.mark.usefixtures("small_pages")
def test_sums_that_change_between_the_first_and_the_last_page_are_reported() -> None:
    table = filled(job("a", [attempt(1)]))
    late = iter([job("late", [attempt(1)])])

    def ends() -> None:
        accountant(table).account(late)

    assert scan(table, between=ends).changed


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("states", [[JobState.RUNNING, JobState.PREEMPTED], [JobState.PREEMPTED, JobState.RUNNING]])
def test_a_job_that_moves_between_listings_all_the_time_is_found_once(states: list[JobState]) -> None:
    records = [
        job(f"j{number}", [attempt(1)], ended=False, job_state=JobState.PREEMPTED, attempt_count=2)
        for number in range(5)
    ]
    table = filled(*records)
    moves = cycle(states)

    def move() -> None:
        state = next(moves)
        table.write([record.model_copy(update={"job_state": state}).put() for record in records])

    page = scan(table, between=move)
    assert [each.job for each in page.jobs] == ["j0", "j1", "j2", "j3", "j4"]
    assert (page.changed, found(page)) == (False, [])


@pytest.mark.parametrize("limit", range(1, 8))
def test_pages_are_limited_and_may_end_between_a_job_and_its_mark(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(compare, "MAX_SCANNED", limit)
    table = filled(*(job(f"j{number}", [attempt(1)]) for number in range(3)))
    pages: list[int] = []
    page = scan(table, between=lambda: pages.append(1))
    assert (page.scanned, len(page.jobs), found(page)) == (3, 3, [])
    assert len(pages) >= 6 // limit - 1


@pytest.mark.parametrize(
    "record",
    [
        job("waits", ended=False, job_state=JobState.PENDING),
        job("runs", ended=False, attempt_count=1),
        job("earlier", [attempt(1, since_ms=NOON_MS - DAY_MS)]),
    ],
    ids=["waits", "runs for the first time", "ended before"],
)
def test_the_mark_of_a_job_that_cannot_have_anything_in_the_day_is_not_read(record: JobRecord) -> None:
    class Counting(MemoryTable):
        read = 0

        def get(self, key: Key) -> Item | None:
            self.read += key == MarkRecord.key(record.job_name)
            return super().get(key)

    table = Counting()
    table.write([record.put()])
    scan(table)
    assert table.read == 0


@pytest.mark.parametrize(
    ("ended_ms", "expires_ms", "kept"),
    [
        (begin_ms(DAY) - 1, NOW_MS + 1000, True),
        (begin_ms(DAY), NOW_MS + 1000, False),
        (begin_ms(DAY) - 1, NOW_MS, False),
        (begin_ms(DAY) - 1, None, False),
        (None, None, False),
    ],
    ids=["before the day", "on the day", "may be forgotten", "is never forgotten", "has not ended"],
)
def test_that_the_jobs_of_a_day_are_kept_is_shown_by_one_that_ended_before_it(
    ended_ms: int | None, expires_ms: int | None, kept: bool
) -> None:
    expires_at = None if expires_ms is None else expires_ms // 1000
    record = job("a", ended=ended_ms is not None, ended_ms=ended_ms, expires_at=expires_at)
    assert scan(filled(record, job("b", [attempt(1)]))).keeps_earlier is kept


@pytest.mark.parametrize(("since_ms", "complete"), [(NOON_MS, False), (begin_ms(DAY) - 1, True)])
def test_a_job_of_which_attempts_of_the_day_are_not_kept_is_reported(since_ms: int, complete: bool) -> None:
    ended = attempt(3, since_ms=since_ms)
    page = scan(filled(job("a", [ended], ended=False, attempt_count=3)))
    assert [each.complete for each in page.jobs] == [complete]


@pytest.mark.parametrize(
    ("day", "message"),
    [
        (DAY + timedelta(days=5), "not over"),
        (DAY - timedelta(days=25), "choose 2026-11-01"),
        (DAY - timedelta(days=24), None),
        (DAY + timedelta(days=4), None),
    ],
)
def test_only_a_day_that_is_over_and_whose_jobs_are_kept_is_compared(day: date, message: str | None) -> None:
    if message is None:
        assert found(scan(MemoryTable(), day=day)) == []
    else:
        with pytest.raises(InvalidRequest, match=message):
            scan(MemoryTable(), day=day)


def test_a_day_whose_sums_may_be_forgotten_is_not_compared_however_long_jobs_are_kept() -> None:
    with pytest.raises(InvalidRequest, match="may have been forgotten"):
        page_of(MemoryTable(), "team", DAY - timedelta(days=395), None, retention_s=10**9)


@pytest.mark.usefixtures("small_pages")
def test_a_token_is_of_one_day_and_dimension() -> None:
    table = filled(job("a", [attempt(1)]))
    token = page_of(table, "team", DAY, None).token
    assert token is not None
    page_of(table, "team", DAY, token)
    for by, day, wrong in (
        ("owner", DAY, token),
        ("team", DAY - timedelta(days=1), token),
        ("team", DAY, "x"),
        ("team", DAY, "bnVsbA=="),
        ("team", DAY, base64.urlsafe_b64encode(f'["job#a", 1, "x", "team", "{DAY}"]'.encode()).decode()),
    ):
        with pytest.raises(InvalidRequest, match="nextToken"):
            page_of(table, by, day, wrong)


@pytest.mark.usefixtures("small_pages")
def test_a_token_fits_into_a_request_whatever_the_names_of_the_sums() -> None:
    table = filled(*(job(name, [attempt(1)], owner=name * (MAX_NAME_BYTES // 2)) for name in "éè"))
    token, longest = None, 0
    while True:
        token = page_of(table, "owner", DAY, token).token
        if token is None:
            break
        longest = max(longest, len(token))
    assert 1000 < longest <= MAX_TOKEN_CHARS


def test_a_token_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="nextToken"):
        page_of(MemoryTable(), "team", DAY, base64.urlsafe_b64encode(b"[" * 100_000).decode())


def test_damaged_jobs_are_named_and_all_others_are_compared() -> None:
    table = filled(job("a", [attempt(1)]), job("b", [attempt(1)]))
    key = JobRecord.key("a")
    table._store(key, {**(table.get(key) or {}), "history": "damaged"})
    page = scan(table)
    assert (page.unreadable, page.scanned, [each.job for each in page.jobs]) == (("a",), 1, ["b"])
