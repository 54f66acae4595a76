"""The digest of a week: written once when it is due, published from the stream, with what the week had."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from headway.accounting.histogram import bucket_of
from headway.days import DAY_MS, Period, begin_ms
from headway.lifecycle import JobState
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.accounting.records import JOBS, WAIT, add_figures
from headway_service.config import document
from headway_service.digest import content, weekly
from headway_service.digest.content import MAX_JOBS_SHOWN, MAX_TEAMS_SHOWN
from headway_service.digest.weekly import WeeklyDigests
from headway_service.errors import RetryLater
from headway_service.events.job_events import WeeklyDigest, digest_event
from headway_service.events.notifications import message_of
from headway_service.feed.append import MAX_ENTRY_BYTES
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Item, Key, Put, Write
from headway_service.store.records.digest import DIGEST, DigestRecord
from headway_service.store.records.job import JobRecord, request_item
from headway_service.store.records.listed_job import Usage
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import G5, HOUR_MS, accountant, attempt, job
from tests.service.accounting.test_running import holds
from tests.service.events.test_publisher import Ears, again
from tests.service.world import P5

MONDAY = date(2026, 11, 23)
DUE_MS = begin_ms(MONDAY) + 8 * HOUR_MS
WEEK_MS = begin_ms(MONDAY) - 7 * DAY_MS
DOCUMENT: dict[str, Any] = {"pools": {P5: {"size": 2}}, "digest": {"weekday": "mon", "hour": 8}}


class Run:
    """The runs of one process."""

    def __init__(self, table: MemoryTable, settings: dict[str, Any] | None = None) -> None:
        self.now_ms = DUE_MS
        configuration = document.validate(DOCUMENT if settings is None else settings)
        clocks = Clocks(training_ms=lambda: self.now_ms, machine_ms=lambda: self.now_ms)
        self.digests = WeeklyDigests(table, lambda: configuration, clocks)

    def at(self, now_ms: int) -> bool:
        self.now_ms = now_ms
        return self.digests.write_if_due()


def stored(table: MemoryTable, day: date = MONDAY) -> WeeklyDigest:
    item = table.get(DigestRecord.key(day))
    assert item is not None
    return digest_event(DigestRecord.parse(item))


def made(table: MemoryTable, settings: dict[str, Any] | None = None) -> WeeklyDigest:
    assert Run(table, settings).at(DUE_MS)
    return stored(table)


def filled(*jobs: JobRecord) -> MemoryTable:
    table = MemoryTable()
    table.write([each.put() for each in jobs])
    accountant(table).account(jobs)
    return table


def lost(name: str, hours: int, **changes: Any) -> JobRecord:
    """A job of the week that lost instance hours by a preemption."""
    first = attempt(1, since_ms=WEEK_MS + DAY_MS, length_ms=hours * HOUR_MS, preempted=True)
    last = attempt(2, since_ms=first.ended_ms + HOUR_MS)
    usage = Usage(started_ms=first.since_ms, lost_ms=2 * first.lost_ms)
    return job(name, [first, last], usage=usage, preemption_count=1, attempt_count=2, **changes)


def test_a_digest_has_the_sums_of_the_week_by_team_with_costs_and_running_attempts() -> None:
    inside = [job("a", [attempt(1, since_ms=WEEK_MS)]), lost("b", 4, team="blue")]
    outside = [
        job("early", [attempt(1, since_ms=WEEK_MS - 2 * HOUR_MS)]),
        job("late", [attempt(1, since_ms=WEEK_MS + 7 * DAY_MS)]),
    ]
    table = filled(*inside, *outside)
    table.write([holds(attempt(1, since_ms=WEEK_MS + 6 * DAY_MS), "runs").put()])
    prices = {P5: [{"from": "2026-01-01", "onDemandPerHour": 10}, {"from": "2026-11-18", "onDemandPerHour": 20}]}
    digest = made(table, {**DOCUMENT, "prices": prices})
    assert (digest.first, digest.last, digest.more_teams) == (date(2026, 11, 16), date(2026, 11, 22), 0)
    red, blue = digest.teams
    assert (red.team, red.jobs, red.used_hours, red.running_hours, red.cost) == ("red", 1, 2.0, 48.0, 20.0)
    assert (blue.team, blue.used_hours, blue.lost_hours, blue.preemptions) == ("blue", 10.0, 4.0, 1)
    assert [(each.cost, each.lost_cost) for each in (red, blue)] == [(20.0, 0.0), (100.0, 40.0)]
    assert blue.wait_p50_seconds == pytest.approx(60, rel=0.05)
    assert [(each.since, each.per_hour) for each in digest.prices] == [(date(2026, 1, 1), 10.0)]
    assert digest.currency == "USD"
    assert "used 12.00 instance hours, 4.00 of them lost, and running ones 48.00" in digest.message
    text = message_of(digest).text
    assert "red: 2.00 instance hours used, 0.00 lost, 48.00 running, 1 jobs ended, 0 preemptions" in text
    assert "cost 20.00\n" in text
    assert "cost 100.00, 40.00 of it lost\n" in text
    assert f"- {P5}: 10 from 2026-01-01" in text


def test_the_jobs_that_have_lost_the_most_are_named_with_advice() -> None:
    jobs = [lost(f"j{hours}", hours) for hours in range(1, MAX_JOBS_SHOWN + 3)]
    resumes = lost("resumes", 50, checkpoints=True)
    digest = made(filled(*jobs, resumes, job("fine", [attempt(1, since_ms=WEEK_MS)])))
    assert [each.job_name for each in digest.jobs] == ["resumes", "j7", "j6", "j5", "j4"]
    assert [each.lost_hours for each in digest.jobs] == [50.0, 7.0, 6.0, 5.0, 4.0]
    advised = [each.job_name for each in digest.advice if each.code == "LostWork"]
    assert advised == ["j7", "j6", "j5", "j4"]
    assert digest.advice[0].figures == ("Attempts: 1 preempted after 7 h of run time in all, which were lost",)
    assert "- j7 (completed): 7.00 hours lost, 1 preemptions" in message_of(digest).text


def test_a_job_that_cannot_be_read_is_left_out() -> None:
    table = filled(lost("damaged", 9), lost("fine", 1))
    key = JobRecord.key("damaged")
    table._store(key, {**(table.get(key) or {}), "attempts": "damaged"})
    assert [each.job_name for each in made(table).jobs] == ["fine"]


def test_a_job_that_has_lost_nothing_is_not_named() -> None:
    assert made(filled(job("fine", [attempt(1, since_ms=WEEK_MS)]))).jobs == ()


def waited(table: MemoryTable, *weeks: tuple[int, float]) -> MemoryTable:
    """A table in which so many jobs of `red` have waited for so many hours, in the last weeks, the earliest first."""
    for ago, (jobs, hours) in zip(range(len(weeks), 0, -1), weeks, strict=True):
        day = MONDAY - timedelta(days=7 * ago - 2)
        figures = {f"{WAIT}{bucket_of(hours * 3600)}": jobs, f"{JOBS}completed": jobs}
        table.write([add_figures("team", Period(month=f"{day:%Y-%m}", day=day), "red", figures)])
    return table


@pytest.mark.parametrize(
    ("weeks", "grow"),
    [
        (((10, 1.0), (10, 2.0), (10, 4.0)), True),
        (((10, 1.0), (10, 2.0), (10, 2.0)), False),
        (((10, 2.0), (10, 2.0), (10, 4.0)), False),
        (((10, 4.0), (10, 2.0), (10, 1.0)), False),
        # Of few jobs, and of short waits, it says nothing.
        (((10, 1.0), (9, 2.0), (10, 4.0)), False),
        (((10, 0.1), (10, 0.2), (10, 0.4)), False),
        (((10, 2.0), (10, 4.0)), False),
        # From nothing it has grown once.
        (((10, 0.0), (10, 0.0), (10, 4.0)), False),
    ],
)
def test_waits_that_grow_from_week_to_week_are_told(weeks: tuple[tuple[int, float], ...], grow: bool) -> None:
    digest = made(waited(MemoryTable(), *weeks))
    (team,) = digest.teams
    assert team.waits_grow is grow
    assert ("waits grow from week to week for `red`" in digest.message) is grow
    assert ("waits grow from week to week: nine of ten waited" in message_of(digest).text) is grow
    before_h = [seconds / 3600 for seconds in team.wait_p90_before_seconds]
    assert before_h == pytest.approx([0.0] * (3 - len(weeks)) + [hours for _, hours in weeks[:-1]], rel=0.06)


def test_the_prices_of_a_digest_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_PRICES_SHOWN", 1)
    both = attempt(1, since_ms=WEEK_MS).model_copy(update={"demand": {P5: 1, G5: 1}})
    prices = {kind: [{"from": "2026-01-01", "onDemandPerHour": 10}] for kind in (P5, G5)}
    digest = made(filled(job("a", [both], demand={P5: 1, G5: 1})), {**DOCUMENT, "prices": prices})
    assert (digest.teams[0].cost, [each.pool for each in digest.prices]) == (20.0, [G5])


def with_limit(table: MemoryTable, name: str, limit_s: int, alternatives: str = "", **more: Any) -> MemoryTable:
    """The table with the request of a job."""
    request = {"StoppingCondition": {"MaxRuntimeInSeconds": limit_s}, **more}
    table.write([Put(item=request_item(name, json.dumps(request), alternatives))])
    return table


def loose(digest: WeeklyDigest) -> list[str]:
    return [each.job_name for each in digest.advice if each.code == "LooseLimit"]


@pytest.mark.parametrize(
    ("hours", "changes", "advised"),
    [
        (10, {}, True),
        (2, {}, False),
        (10, {"attempt_count": 2}, False),
        (10, {"job_state": JobState.FAILED}, False),
    ],
)
def test_a_limit_far_above_the_run_time_is_advised_on(hours: int, changes: dict[str, Any], advised: bool) -> None:
    # Beside MaxRuntimeInSeconds it has the overhead, and the time to wait for instances.
    fields: dict[str, Any] = {"limit_ms": (hours + 100) * HOUR_MS, "attempt_count": 1, **changes}
    table = filled(job("a", [attempt(1, since_ms=WEEK_MS)], **fields))
    digest = made(with_limit(table, "a", hours * 3600))
    assert loose(digest) == (["a"] if advised else [])
    if advised:
        assert digest.advice[0].figures == ("Run time 1 h, limit 10 h",)


@pytest.mark.parametrize(("alternative", "advised"), [(0, []), (1, ["a"])])
def test_the_limit_is_that_of_the_alternative_that_the_job_ran_on(alternative: int, advised: list[str]) -> None:
    fields: dict[str, Any] = {"limit_ms": 99 * HOUR_MS, "attempt_count": 1, "alternative": alternative}
    other = json.dumps([{"StoppingCondition": {"MaxRuntimeInSeconds": 36_000}}])
    table = filled(job("a", [attempt(1, since_ms=WEEK_MS)], **fields))
    assert loose(made(with_limit(table, "a", 3600, other))) == advised


def test_there_is_no_advice_on_the_limit_of_a_request_that_is_forgotten() -> None:
    assert loose(made(filled(job("a", [attempt(1, since_ms=WEEK_MS)], limit_ms=99 * HOUR_MS, attempt_count=1)))) == []


def test_jobs_that_may_wait_long_for_instances_hide_no_loose_limits_and_the_advice_is_limited() -> None:
    names = [f"w{number}" for number in range(6)] + [f"x{number}" for number in range(6)]
    limits = {name: 999 if name.startswith("w") else 20 for name in names}
    table = filled(
        *(
            job(name, [attempt(1, since_ms=WEEK_MS)], limit_ms=hours * HOUR_MS, attempt_count=1)
            for name, hours in limits.items()
        )
    )
    for name in names:
        with_limit(table, name, 3600 if name.startswith("w") else 36_000)
    assert loose(made(table)) == ["x0", "x1", "x2", "x3", "x4"]


def test_a_week_without_usage_has_a_digest_that_says_so() -> None:
    digest = made(MemoryTable())
    assert digest.teams == ()
    assert "nothing was used" in message_of(digest).text


def test_a_digest_is_written_once_a_week_and_never_before_it_is_due() -> None:
    table = MemoryTable()
    run = Run(table)
    minutes = range(DUE_MS - 2 * HOUR_MS, DUE_MS + 15 * DAY_MS, 1_200_000)
    written = [now_ms for now_ms in minutes if run.at(now_ms)]
    assert written == [DUE_MS + week * 7 * DAY_MS for week in range(3)]
    assert [item["sk"] for item in table.query(DIGEST, limit=9)] == ["2026-11-23", "2026-11-30", "2026-12-07"]


def test_another_process_does_not_write_it_again() -> None:
    table = MemoryTable()
    assert [Run(table).at(DUE_MS + minute * 60_000) for minute in range(3)] == [True, False, False]


def test_a_digest_that_is_there_is_not_computed_again() -> None:
    class Counting(MemoryTable):
        queries = 0

        def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
            self.queries += 1
            return super().query(pk, prefix=prefix, after=after, limit=limit)

    table = Counting()
    run = Run(table)
    assert run.at(DUE_MS)
    before = table.queries
    assert not run.at(DUE_MS + 60_000)
    assert table.queries == before > 0


def test_of_two_runs_at_once_one_writes_it() -> None:
    class Both(MemoryTable):
        """A table into which another run writes the digest before this one does."""

        def write(self, writes: Sequence[Write]) -> None:
            if self.get(DigestRecord.key(MONDAY)) is None:
                other = DigestRecord(day=MONDAY.isoformat(), detail="{}", expires_at=1)
                super().write([other.put()])
            super().write(writes)

    table = Both()
    assert not Run(table).at(DUE_MS)
    item = table.get(DigestRecord.key(MONDAY))
    assert item is not None
    assert item["detail"] == "{}"


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_write_without_an_answer_is_checked_by_the_next_run(carried_out: bool) -> None:
    class Lost(MemoryTable):
        lost = 1

        def write(self, writes: Sequence[Write]) -> None:
            if carried_out or not self.lost:
                super().write(writes)
            if self.lost:
                self.lost -= 1
                raise RetryLater("the answer is lost")

    table = Lost()
    run = Run(table)
    assert [run.at(DUE_MS + minute * 60_000) for minute in range(3)] == [False, not carried_out, False]
    assert len(table.query(DIGEST, limit=9)) == 1


def test_without_the_setting_nothing_is_read_or_written() -> None:
    class Unused(MemoryTable):
        def get(self, key: Key) -> Item | None:
            raise AssertionError(key)

    table = Unused()
    assert not Run(table, {"pools": {P5: {"size": 2}}}).at(DUE_MS)
    assert table.items() == []


def test_before_any_configuration_there_is_no_digest() -> None:
    clocks = Clocks(training_ms=lambda: DUE_MS, machine_ms=lambda: DUE_MS)
    assert not WeeklyDigests(MemoryTable(), lambda: None, clocks).write_if_due()


def test_only_the_jobs_that_ended_last_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weekly, "MAX_JOBS_READ", 1)
    monkeypatch.setattr(weekly, "MAX_LISTED", 1)
    digest = made(filled(lost("a", 2), lost("b", 3)))
    assert [each.job_name for each in digest.jobs] == ["b"]


# --------------------------------------------------------------------------------------------------------- publishing
def records() -> list[dict[str, Any]]:
    """The stream after a digest was written, and forgotten."""
    table = StreamedTable()
    assert Run(table).at(DUE_MS)
    return [table.record(number, START_S) for number in range(len(table.written))]


@pytest.mark.parametrize("notifications", [{}, {"codes": []}, {"teams": ["red"]}])
def test_a_digest_is_an_event_and_a_message_whatever_reasons_the_policy_selects(notifications: dict[str, Any]) -> None:
    ears = Ears(**notifications)
    assert ears.tell(records()).failed_from is None
    assert ears.events == ears.feed == ["digest/2026-11-23/1"]
    assert ears.subjects == ["WeeklyDigest: 2026-11-16 to 2026-11-22"]


def test_a_rejected_digest_comes_again_with_the_same_id_and_is_in_the_feed_once() -> None:
    ears = Ears()
    ears.topic.plan = [again(0)] * 3
    found = records()
    assert ears.tell(found).failed_from is not None
    assert ears.tell(found).failed_from is None
    assert ears.events == ["digest/2026-11-23/1"] * 2
    assert ears.feed == ["digest/2026-11-23/1"]
    assert [message.text.splitlines()[-1] for message in ears.topic.taken] == ["Event: digest/2026-11-23/1"]


def test_a_digest_that_is_replaced_or_forgotten_is_not_published_again() -> None:
    (record,) = records()
    old = {**record["dynamodb"], "OldImage": record["dynamodb"]["NewImage"]}
    gone = {name: value for name, value in old.items() if name != "NewImage"}
    ears = Ears()
    ears.tell([{**record, "eventName": "MODIFY", "dynamodb": old}, {**record, "eventName": "REMOVE", "dynamodb": gone}])
    assert ears.events == []


def test_the_largest_digest_fits_an_entry_of_the_feed_and_a_message() -> None:
    """SNS and EventBridge take 256 KB, four times an entry."""
    table = MemoryTable()
    for number in range(MAX_TEAMS_SHOWN + 5):
        name, team = f"{number:02d}{'n' * 61}", f"{number:02d}{'t' * 61}"
        record = lost(name, 20 + number, team=team)
        if number % 2:
            record = job(name, [attempt(1, since_ms=WEEK_MS)], team=team, attempt_count=1, limit_ms=10**9)
        table.write([record.put()])
        with_limit(table, name, 10**6)
        accountant(table).account([record])
    digest = made(table)
    assert len(digest.teams) == MAX_TEAMS_SHOWN
    assert digest.more_teams == 5
    assert len(digest.advice) == 2 * MAX_JOBS_SHOWN
    assert len(digest.detail().encode()) < MAX_ENTRY_BYTES / 2
    message = message_of(digest)
    assert len(message.text.encode()) < MAX_ENTRY_BYTES / 2
    assert "5 more teams" in message.text
    assert json.loads(digest.detail()) == digest.document()


def test_the_expiry_of_a_digest_is_after_the_time_in_which_it_may_be_written() -> None:
    table = MemoryTable()
    made(table)
    item = table.get(Key(DIGEST, MONDAY.isoformat()))
    assert item is not None
    assert item["expiresAt"] * 1000 > DUE_MS + timedelta(days=7).total_seconds() * 1000
