"""The run times of completed jobs are kept by kind, once each, and read as a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, ClassVar

import pytest

from headway.accounting.histogram import RELATIVE_ERROR, bucket_of
from headway.days import DAY_MS, Period, begin_ms
from headway.job_terms import owner_hash
from headway.lifecycle import JobState
from headway.prediction.kinds import RunKind, instances_of
from headway.prediction.run_times import MIN_RUNS, RunTimes
from headway_service.accounting import names
from headway_service.accounting.contributions import kind_of, run_ms_of
from headway_service.accounting.records import (
    KIND,
    KINDS_KEPT,
    RUN,
    MarkRecord,
    figures_in,
    name_in,
    names_key,
    partition,
)
from headway_service.accounting.run_times import (
    FRESH_MS,
    KnownRunTimes,
    quality_in,
    read_quality,
    read_run_times,
)
from headway_service.errors import Conflict
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import MAX_TRANSACTION_WRITES, Put, Update, Write
from headway_service.store.records.job import MAX_ENDED_ATTEMPTS, JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import HOUR_MS, NOON_MS, accountant, attempt, job, sums
from tests.service.world import P5

MONTH = Period(month="2026-11")
SOURCE = "0123456789ab"
LATER_MS = NOON_MS + DAY_MS


def done(name: str, hours: float = 2, **changes: Any) -> JobRecord:
    """A completed job whose run time counts."""
    attempts = changes.pop("attempts", [attempt(1, length_ms=round(hours * HOUR_MS))])
    return job(name, attempts, **{"source": SOURCE, **changes})


def kinds(table: MemoryTable, month: str = MONTH.month) -> dict[str, dict[str, int]]:
    found = table.query(partition(KIND, month), prefix="00#", limit=5000)
    return {name_in(item): figures_in(item) for item in found}


def median_h(run_times: RunTimes, like: JobRecord) -> float:
    found = run_times.predict(kind_of(like))
    assert found is not None
    return found.median_ms / HOUR_MS


def test_a_completed_job_is_in_the_sum_of_its_kind_of_its_month() -> None:
    table = MemoryTable()
    accountant(table).account([done("bert-1"), done("bert-2")])
    kind = RunKind(owner=owner_hash("ada"), source=SOURCE, instances=instances_of({P5: 2}), stem="bert")
    assert kinds(table) == {kind.text: {f"{RUN}{bucket_of(2 * 3600)}": 2}}
    assert RunKind.parse(kind.text) == kind


@pytest.mark.parametrize(
    "changes",
    [
        {"source": ""},
        {"job_state": JobState.FAILED},
        {"job_state": JobState.STOPPED},
        {"reuse": {"key": "k", "job_name": "other"}},
        {"attempts": ()},
        {"attempts": tuple(attempt(number + 1, since_ms=NOON_MS + number) for number in range(MAX_ENDED_ATTEMPTS))},
    ],
    ids=["off", "failed", "stopped", "reused", "no attempt", "older attempts may be missing"],
)
def test_other_jobs_are_in_no_sum_of_a_kind(changes: dict[str, Any]) -> None:
    table = MemoryTable()
    accountant(table).account([done("a", **dict(changes))])
    assert kinds(table) == {}
    assert sums(table)


def test_the_run_time_of_an_interrupted_job_has_no_lost_time() -> None:
    ran = [
        attempt(1, length_ms=3 * HOUR_MS, preempted=True),
        attempt(2, since_ms=NOON_MS + DAY_MS, length_ms=HOUR_MS),
    ]
    lost_ms = ran[0].lost_ms
    assert 0 < lost_ms < 3 * HOUR_MS
    assert run_ms_of(job("a", ran, source=SOURCE)) == 4 * HOUR_MS - lost_ms


def test_a_job_that_is_accounted_for_again_is_in_the_sum_once() -> None:
    table = MemoryTable()
    for _ in range(3):
        accountant(table).account([done("a"), done("a")])
    assert [sum(figures.values()) for figures in kinds(table).values()] == [1]


class Interrupted(MemoryTable):
    """A table whose next write of marks fails, and with it all that is written with them."""

    fails = False

    def write(self, writes: Sequence[Write]) -> None:
        if self.fails and any(isinstance(each, Put) for each in writes):
            self.fails = False
            raise Conflict([0])
        super().write(writes)


def test_a_transaction_that_fails_leaves_no_run_time() -> None:
    table = Interrupted()
    table.fails = True
    accountant(table).account([done("bert-1"), done("bert-2")])
    assert [sum(figures.values()) for figures in kinds(table).values()] == [2]


def test_jobs_of_one_minute_and_kind_cost_one_write_more() -> None:
    class Counted(MemoryTable):
        kinds = 0

        def write(self, writes: Sequence[Write]) -> None:
            super().write(writes)
            self.kinds += sum(isinstance(each, Update) and "#kind#" in each.key.pk for each in writes)
            assert len(writes) <= MAX_TRANSACTION_WRITES

    table = Counted()
    keeper = accountant(table)
    keeper.account([done("first-1")])
    assert table.kinds == 2  # the sum, and the count of kinds
    keeper.account([done(f"first-{number}") for number in range(2, 42)])
    assert table.kinds == 3


def test_many_jobs_of_many_kinds_fit_into_transactions() -> None:
    table = MemoryTable()
    accountant(table).account([done(f"kind{'x' * number}-1", owner=f"o{number}", team="") for number in range(60)])
    assert len(kinds(table)) == 60


def test_a_job_whose_sums_and_kind_are_all_new_begins_a_transaction_if_it_does_not_fit() -> None:
    class Counted(MemoryTable):
        sizes: ClassVar[list[int]] = []

        def write(self, writes: Sequence[Write]) -> None:
            self.sizes.append(len(writes))
            super().write(writes)

    # Of the last job, only its end is missing, in another month: it takes a mark, of team, owner and pool two sums and
    # a count each, and of its kind a sum and a count. Each other job adds a mark to those of the first one.
    december = [attempt(1, since_ms=begin_ms(date(2026, 12, 2)), length_ms=HOUR_MS)]
    last = done("bert-99", attempts=december)
    table = Counted()
    table.write([MarkRecord(job_name=last.job_name, accepted_ms=last.accepted_time, attempts=1).put()])
    accountant(table).account([*(done(f"bert-{number}") for number in range(78)), last])
    assert table.sizes == [1, 89, 8 + 12]


def test_kinds_beyond_the_limit_share_a_sum_and_are_known_as_some_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MAX_NAMES", 2)
    table = MemoryTable()
    for number in range(6):
        accountant(table).account([done(f"{'abcdef'[number]}-1", hours=5, team="red", owner="ada")])
    found = kinds(table)
    assert len(found) == 3
    assert sum(found["(other)"].values()) == 4
    assert median_h(read_run_times(table, LATER_MS), done("new", owner="eve")) == pytest.approx(5, rel=RELATIVE_ERROR)


def test_sums_of_kinds_expire() -> None:
    table = MemoryTable()
    accountant(table).account([done("a")])
    (item,) = table.query(partition(KIND, MONTH.month), prefix="00#", limit=10)
    assert item["expiresAt"] == begin_ms(date(2026, 11, 1)) // 1000 + KINDS_KEPT * DAY_MS // 1000
    assert table.get(names_key(KIND, MONTH.month))


def test_what_was_kept_predicts_the_next_job_of_the_kind() -> None:
    table = MemoryTable()
    accountant(table).account([done(f"bert-{number}", hours=7) for number in range(5)])
    assert median_h(read_run_times(table, LATER_MS), done("bert-9")) == pytest.approx(7, rel=RELATIVE_ERROR)


def test_run_times_of_the_last_months_are_read_and_older_ones_are_not() -> None:
    table = MemoryTable()
    accountant(table).account([done(f"bert-{number}") for number in range(5)])
    assert read_run_times(table, begin_ms(date(2027, 2, 28))).predict(kind_of(done("bert-9"))) is not None
    assert read_run_times(table, begin_ms(date(2027, 3, 1))).predict(kind_of(done("bert-9"))) is None


def test_run_times_are_read_again_after_some_minutes() -> None:
    table, now = MemoryTable(), [0]
    known = KnownRunTimes(table, Clocks(training_ms=lambda: LATER_MS, machine_ms=lambda: now[0]))
    like = kind_of(done("bert-9"))
    assert known.get().predict(like) is None
    accountant(table).account([done(f"bert-{number}") for number in range(5)])
    now[0] = FRESH_MS - 1
    assert known.get().predict(like) is None
    now[0] = FRESH_MS
    assert known.get().predict(like) is not None


def test_a_sum_says_how_good_the_predictions_of_its_jobs_were() -> None:
    table = MemoryTable()
    keeper = accountant(table, run_times=lambda: read_run_times(table, LATER_MS))
    for number in range(MIN_RUNS):
        keeper.account([done(f"bert-{number}", hours=2)])
    (figures,) = kinds(table).values()
    assert quality_in(figures).predicted == 0
    keeper.account([done("bert-8", hours=2)])
    keeper.account([done("bert-9", hours=20, limit_ms=100 * HOUR_MS)])
    (figures,) = kinds(table).values()
    found = quality_in(figures)
    assert (found.predicted, found.covered) == (2, 1)
    assert found.median_error == pytest.approx(0, abs=RELATIVE_ERROR)
    assert figures[f"{RUN}{bucket_of(20 * 3600)}"] == 1


def test_a_prediction_is_judged_within_the_limit_of_its_job() -> None:
    table = MemoryTable()
    keeper = accountant(table, run_times=lambda: read_run_times(table, LATER_MS))
    keeper.account([done(f"bert-{number}", hours=20) for number in range(MIN_RUNS)])
    keeper.account([done("bert-9", hours=2, limit_ms=2 * HOUR_MS)])
    (figures,) = kinds(table).values()
    assert quality_in(figures).covered == 1


def test_the_quality_of_months_is_that_of_all_their_kinds() -> None:
    table = MemoryTable()
    keeper = accountant(table, run_times=lambda: read_run_times(table, LATER_MS))
    for number in range(MIN_RUNS):
        keeper.account([done(f"bert-{number}", hours=2)])
    keeper.account([done("bert-8", hours=2)])
    keeper.account([done("gpt-9", hours=20)])
    next_month = [attempt(1, since_ms=begin_ms(date(2026, 12, 2)), length_ms=2 * HOUR_MS)]
    keeper.account([done("bert-10", attempts=next_month)])
    november = read_quality(table, date(2026, 11, 3), date(2026, 11, 3))
    assert (november.kept, november.quality.predicted, november.quality.covered) == (5, 2, 1)
    both = read_quality(table, date(2026, 11, 30), date(2026, 12, 1))
    assert (both.kept, both.quality.predicted, both.quality.covered) == (6, 3, 2)
    assert read_quality(table, date(2020, 1, 1), date(2026, 10, 31)).kept == 0
    # No day is before the first one.
    assert read_quality(table, date.min, date(1, 2, 3)).kept == 0


@pytest.mark.parametrize("day", [date.min, date(1, 12, 31), date(2, 3, 1)], ids=str)
def test_the_first_years_of_the_calendar_have_no_predictions(day: date) -> None:
    assert read_quality(MemoryTable(), date.min, day).kept == 0


def test_no_more_months_are_read_than_are_kept() -> None:
    class Counted(MemoryTable):
        queries = 0

        def query_for_display(self, *arguments: Any, **options: Any) -> Any:
            self.queries += 1
            return super().query_for_display(*arguments, **options)

    table = Counted()
    read_quality(table, date(2021, 1, 1), date(2026, 1, 1))
    assert table.queries == 15
