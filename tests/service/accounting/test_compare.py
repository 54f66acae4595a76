"""The sums of a day are compared with the jobs: too much is found as well as too little, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.days import DAY_MS, Period, begin_ms, month_of
from headway.accounting.differences import differences
from headway.lifecycle import JobState
from headway_service.accounting import compare
from headway_service.accounting.compare import ScannedJob, ScanPage, scan_day
from headway_service.accounting.records import IDLE, IDLE_RESERVED, MarkRecord, add_figures, sum_key
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Update
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import DAY, G5, HOUR_MS, NOON_MS, accountant, attempt, job
from tests.service.world import P5

NOW_MS = begin_ms(DAY) + 5 * DAY_MS
RETENTION_S = 30 * 86_400


def scan(table: MemoryTable, by: str = "team", day: date = DAY, between: Callable[[], None] = lambda: None) -> ScanPage:
    """All pages as one; `between` runs after each page."""
    jobs: dict[str, ScannedJob] = {}
    scanned, token = 0, None
    while True:
        page = scan_day(table, by, day, token, now_ms=NOW_MS, retention_s=RETENTION_S)
        scanned, token = scanned + page.scanned, page.token
        jobs |= {each.job: each for each in page.jobs}
        if token is None:
            return ScanPage(
                scanned=scanned, jobs=tuple(jobs.values()), stored=page.stored, changed=page.changed, token=None
            )
        between()


def found(page: ScanPage) -> list[tuple[str, str, int]]:
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


def test_sums_that_change_between_the_first_and_the_last_page_are_reported() -> None:
    table = filled(job("a", [attempt(1)]))
    late = iter([job("late", [attempt(1)])])

    def ends() -> None:
        accountant(table).account(late)

    assert scan(table, between=ends).changed


def test_a_job_that_is_preempted_or_starts_between_two_pages_is_found() -> None:
    for before, after in ((JobState.RUNNING, JobState.PENDING), (JobState.PENDING, JobState.RUNNING)):
        record = job("a", [attempt(1)], ended=False, job_state=before, attempt_count=2)
        table = filled(record)
        moves = iter([record.model_copy(update={"job_state": after})])

        def move(table: MemoryTable = table, moves: object = moves) -> None:
            for moved in moves:  # type: ignore[attr-defined]
                table.write([moved.put()])

        page = scan(table, between=move)
        assert [each.job for each in page.jobs] == ["a"], before
        assert found(page) == []


def test_pages_are_limited_and_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "MAX_SCANNED", 2)
    table = filled(*(job(f"j{number}", [attempt(1)]) for number in range(5)))
    pages = []
    page = scan(table, between=lambda: pages.append(1))
    assert (page.scanned, len(page.jobs), found(page)) == (5, 5, [])
    assert len(pages) >= 5


def test_a_waiting_job_that_was_never_launched_is_not_read() -> None:
    class Counting(MemoryTable):
        read = 0

        def get(self, key: object) -> object:  # type: ignore[override]
            self.read += 1
            return super().get(key)  # type: ignore[arg-type]

    table = Counting()
    table.write([job("waits", ended=False, job_state=JobState.PENDING).put()])
    scan(table)
    assert table.read == 0


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
        scan_day(MemoryTable(), "team", DAY - timedelta(days=395), None, now_ms=NOW_MS, retention_s=10**9)


def test_a_token_is_of_one_day_and_dimension() -> None:
    token = scan_day(MemoryTable(), "team", DAY, None, now_ms=NOW_MS, retention_s=RETENTION_S).token
    assert token is not None
    for by, day, wrong in (
        ("owner", DAY, token),
        ("team", DAY - timedelta(days=1), token),
        ("team", DAY, "x"),
        ("team", DAY, "bnVsbA=="),
    ):
        with pytest.raises(InvalidRequest, match="nextToken"):
            scan_day(MemoryTable(), by, day, wrong, now_ms=NOW_MS, retention_s=RETENTION_S)
