"""Sums of a day get what the jobs have: exactly, once, and whatever ends meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.differences import OTHER, Difference, differences
from headway.days import DAY_MS, Period, begin_ms, month_of
from headway_service.accounting import compare
from headway_service.accounting.reader import Step, read_usage
from headway_service.accounting.records import MAX_NAMES, RepairRecord, figures_in, names_key, sum_key
from headway_service.accounting.repair import UsageRepairer
from headway_service.errors import InvalidRequest, RetryLater, SumsChanged
from headway_service.ports.table import Item, Key, Update, Write
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.accounting.test_accountant import DAY, NOON_MS, accountant, attempt, job, sums
from tests.service.accounting.test_compare import NOW_MS, RETENTION_S, filled, scan, some_jobs
from tests.service.world import P5

ADA = "arn:aws:iam::123456789012:user/ada"
DAILY, MONTHLY = Period(month=month_of(DAY), day=DAY), Period(month=month_of(DAY))
USED = f"used.{P5}"


def repairer(table: MemoryTable, now_ms: int = NOW_MS, retention_s: int = RETENTION_S) -> UsageRepairer:
    return UsageRepairer(table, lambda: now_ms, retention_s)


def compared(table: MemoryTable, by: str = "team") -> tuple[list[Difference], int]:
    page = scan(table, by)
    assert not page.changed
    return differences(page.stored or {}, [each.sums for each in page.jobs]), page.revision or 0


def repair(table: MemoryTable, by: str = "team") -> None:
    found, revision = compared(table, by)
    for each in found:
        revision = repairer(table).repair(by, DAY, [each], revision, ADA)


def damage(table: MemoryTable, by: str, name: str, figures: dict[str, int], *, months: bool = True) -> None:
    """Add to the sums of a day, and of its month, what no job has."""
    periods = [DAILY, *([MONTHLY] if months else [])]
    table.write([Update(key=sum_key(by, period, name), adds=figures) for period in periods])


def of_month(table: MemoryTable, by: str = "team", name: str = "red") -> dict[str, int]:
    return figures_in(table.get(sum_key(by, MONTHLY, name)) or {})


def counted(table: MemoryTable) -> dict[tuple[str, str], dict[str, int]]:
    """All sums but those that are 0, and the repairs."""
    return {key: figures for key, figures in sums(table).items() if figures and key[1] != "repaired"}


@given(
    some_jobs(),
    st.sampled_from(["team", "owner", "pool"]),
    st.dictionaries(st.sampled_from(["attempts", USED, "w.7", f"lostBilled.{P5}"]), st.integers(-3, 3), min_size=1),
    st.booleans(),
)
def test_sums_are_what_they_were_before_the_damage_whether_it_was_too_much_or_too_little(
    jobs: list[JobRecord], by: str, harm: dict[str, int], months: bool
) -> None:
    table = filled(*jobs, job("a", [attempt(1)]))
    before = counted(table)
    name = {"team": "red", "owner": "ada", "pool": P5}[by]
    stored = figures_in(table.get(sum_key(by, DAILY, name)) or {})
    harm = {figure: more for figure, more in harm.items() if more and stored.get(figure, 0) + more >= 0}
    if not harm:
        return
    damage(table, by, name, harm, months=months)
    repair(table, by)
    assert counted(table) == before
    assert compared(table, by)[0] == []


def test_a_month_that_alone_was_wrong_is_repaired_with_a_day_of_it() -> None:
    table = filled(job("a", [attempt(1)]), job("b", [attempt(1, since_ms=NOON_MS - 2 * DAY_MS)]))
    before = counted(table)
    damage(table, "team", "red", {"attempts": 1}, months=False)
    table.write([Update(key=sum_key("team", MONTHLY, "red"), adds={"attempts": 5})])
    repair(table)
    assert counted(table) == before


def test_figures_that_do_not_differ_in_the_day_are_left_as_they_are_in_the_month() -> None:
    table = filled(job("a", [attempt(1)]))
    damage(table, "team", "red", {"attempts": 1})
    table.write([Update(key=sum_key("team", MONTHLY, "red"), adds={"preemptions": 5})])
    repair(table)
    assert of_month(table)["preemptions"] == 5
    assert of_month(table)["attempts"] == 1


def test_idle_time_of_a_pool_stays() -> None:
    table = filled(job("a", [attempt(1)]))
    damage(table, "pool", P5, {f"idle.{P5}": 7, "attempts": 1})
    repair(table, "pool")
    assert (table.get(sum_key("pool", DAILY, P5)) or {})[f"idle.{P5}"] == 7
    assert of_month(table, "pool", P5)["attempts"] == 1


def test_a_sum_of_which_no_job_is_left_is_not_shown_any_more() -> None:
    table = filled(job("a", [attempt(1)]))
    accountant(table).account([job("ghost", [attempt(1)], team="blue")])
    repair(table)
    assert [row.name for row in read_usage(table, "team", DAY, DAY, Step.TOTAL)] == ["red"]
    assert {sk for (pk, sk), figures in counted(table).items() if pk.startswith("usage#team#")} == {"00#red", "25#red"}


def test_a_repair_of_the_month_between_two_pages_makes_a_comparison_useless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "MAX_SCANNED", 2)
    table = filled(job("a", [attempt(1)]), job("b", [attempt(1)]))
    other = Difference(name="red", figure="w.9", stored=0, computed=1)

    def repairs() -> None:
        repairer(table).repair("team", DAY + timedelta(days=1), [other], 0, ADA)

    assert scan(table, between=repairs).changed


def test_a_repair_is_recorded_with_its_caller_and_counted() -> None:
    table = filled(job("a", [attempt(1)]))
    damage(table, "team", "red", {"attempts": 1, "w.9": 1})
    repair(table)
    record = RepairRecord.parse(table.get(RepairRecord.key("team", MONTHLY.month)) or {})
    assert (record.version, record.day, record.caller, record.at_ms) == (2, DAY.isoformat(), ADA, NOW_MS)
    assert compared(table) == ([], 2)


# ------------------------------------------------------------------------------------------------ once, and exactly
def test_a_repetition_of_a_repair_changes_nothing() -> None:
    table = filled(job("a", [attempt(1)]))
    before = counted(table)
    damage(table, "team", "red", {"attempts": 1})
    found, revision = compared(table)
    assert [repairer(table).repair("team", DAY, found, revision, ADA) for _ in range(3)] == [1, 1, 1]
    assert counted(table) == before


def test_of_two_operators_who_repair_the_same_only_one_does() -> None:
    table = filled(job("a", [attempt(1)]))
    before = counted(table)
    damage(table, "team", "red", {"attempts": 1, "w.9": 2})
    found, revision = compared(table)
    repairer(table).repair("team", DAY, found[:1], revision, ADA)
    with pytest.raises(SumsChanged, match="repaired since"):
        repairer(table).repair("team", DAY, found, revision, ADA)
    repair(table)
    assert counted(table) == before


def test_a_repair_of_another_day_of_the_month_makes_a_comparison_old() -> None:
    table = filled(job("a", [attempt(1)]))
    damage(table, "team", "red", {"attempts": 1})
    found, revision = compared(table)
    other = Difference(name="red", figure="w.9", stored=0, computed=1)
    repairer(table).repair("team", DAY + timedelta(days=1), [other], revision, ADA)
    with pytest.raises(SumsChanged):
        repairer(table).repair("team", DAY, found, revision, ADA)


class Meanwhile(MemoryTable):
    """A table in which something happens before one of its reads or writes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = -1
        self.happens: Callable[[], None] = lambda: None

    def _call(self) -> None:
        self.calls -= 1
        if self.calls == 0:
            self.happens()

    def get(self, key: Key) -> Item | None:
        self._call()
        return super().get(key)

    def write(self, writes: Sequence[Write]) -> None:
        self._call()
        super().write(writes)


def meanwhile(jobs: Sequence[JobRecord], harm: dict[str, int], at: int, happens: Callable[[MemoryTable], None]) -> Any:
    """A table that is repaired while something happens before a call of it; returns it and the error, if any."""
    table = Meanwhile()
    table.write([each.put() for each in jobs])
    accountant(table).account(jobs)
    damage(table, "team", "red", harm)
    found, revision = compared(table)
    table.happens = lambda: happens(table)
    table.calls = at
    try:
        repairer(table).repair("team", DAY, found, revision, ADA)
    except (SumsChanged, RetryLater) as error:
        return table, error
    finally:
        table.calls = -1
    return table, None


JOBS = [job("a", [attempt(1)]), job("b", [attempt(1, since_ms=NOON_MS - DAY_MS)])]
CALLS = 38
"""Calls of the table in one repair of a name on the 25th, and some more."""


@pytest.mark.parametrize("day", [-1, 0, 1])
@pytest.mark.parametrize("at", range(1, CALLS))
def test_whatever_ends_meanwhile_is_in_the_sums_once(day: int, at: int) -> None:
    late = job("late", [attempt(1, since_ms=NOON_MS + day * DAY_MS)])

    def ends(table: MemoryTable) -> None:
        table.write([late.put()])
        accountant(table).account([late])

    table, error = meanwhile(JOBS, {"attempts": 1}, at, ends)
    ends(table)
    assert counted(table) == counted(filled(*JOBS, late)) or (day == 0 and error is not None)
    if error is not None:
        repair(table)
        assert counted(table) == counted(filled(*JOBS, late))


@pytest.mark.parametrize("at", range(1, CALLS))
def test_a_repair_that_another_one_meets_takes_effect_once(at: int) -> None:
    found = [Difference(name="red", figure="attempts", stored=2, computed=1)]

    def other(table: MemoryTable) -> None:
        try:
            repairer(table).repair("team", DAY, found, 0, f"{ADA}2")
        except SumsChanged:
            assert at > 1

    table, _ = meanwhile(JOBS, {"attempts": 1}, at, other)
    assert counted(table) == counted(filled(*JOBS))


# ------------------------------------------------------------------------------------------------------- refusals
def test_sums_that_are_not_those_of_the_comparison_are_left_as_they_are() -> None:
    table = filled(job("a", [attempt(1)]))
    wrong = Difference(name="red", figure="attempts", stored=7, computed=1)
    before = counted(table)
    with pytest.raises(SumsChanged, match="not those of the comparison"):
        repairer(table).repair("team", DAY, [wrong], 0, ADA)
    assert counted(table) == before
    assert table.get(RepairRecord.key("team", MONTHLY.month)) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": OTHER}, "many names"),
        ({"figure": f"idle.{P5}"}, "no figure"),
        ({"figure": "expiresAt"}, "no figure"),
        ({"figure": "version"}, "no figure"),
        ({"computed": 1}, "does not differ"),
    ],
)
def test_what_cannot_be_repaired_is_refused(changes: dict[str, Any], message: str) -> None:
    table = filled(job("a", [attempt(1)]))
    given = Difference(**{"name": "red", "figure": "attempts", "stored": 1, "computed": 2, **changes})
    with pytest.raises(InvalidRequest, match=message):
        repairer(table).repair("team", DAY, [given], 0, ADA)


def test_a_figure_that_is_there_twice_is_refused() -> None:
    given = Difference(name="red", figure="attempts", stored=1, computed=2)
    with pytest.raises(InvalidRequest, match="once"):
        repairer(filled()).repair("team", DAY, [given, given], 0, ADA)


def test_a_name_without_a_sum_of_its_own_is_not_given_one_above_the_limit() -> None:
    table = filled(job("a", [attempt(1)]))
    table.write([Update(key=names_key("team", MONTHLY.month), sets={"names": MAX_NAMES})])
    given = Difference(name="blue", figure="attempts", stored=0, computed=1)
    with pytest.raises(InvalidRequest, match="too many names"):
        repairer(table).repair("team", DAY, [given], 0, ADA)


def test_a_sum_that_is_made_by_a_repair_is_counted_among_the_names() -> None:
    table = filled(job("a", [attempt(1)]))
    repairer(table).repair("team", DAY, [Difference(name="blue", figure="attempts", stored=0, computed=1)], 0, ADA)
    assert (table.get(names_key("team", MONTHLY.month)) or {})["names"] == 2
    assert of_month(table, name="blue") == {"attempts": 1}


@pytest.mark.parametrize(
    ("day", "now_ms", "retention_s", "message"),
    [
        (DAY, NOON_MS, RETENTION_S, "not over"),
        (DAY, NOON_MS + 40 * DAY_MS, RETENTION_S, "forgotten"),
        (DAY, begin_ms(DAY.replace(day=1)) + 400 * DAY_MS - 1, 10**9, None),
        (DAY, begin_ms(DAY.replace(day=1)) + 400 * DAY_MS, 10**9, "days of 2026-11"),
    ],
)
def test_only_a_day_is_repaired_whose_jobs_and_month_are_kept(
    day: date, now_ms: int, retention_s: int, message: str | None
) -> None:
    given = Difference(name="red", figure="attempts", stored=0, computed=1)
    table = filled()
    if message is None:
        assert repairer(table, now_ms, retention_s).repair("team", day, [given], 0, ADA) == 1
        return
    with pytest.raises(InvalidRequest, match=message):
        repairer(table, now_ms, retention_s).repair("team", day, [given], 0, ADA)


def test_sums_that_keep_changing_are_tried_again_later() -> None:
    class Busy(MemoryTable):
        def get(self, key: Key) -> Item | None:
            if key == sum_key("team", MONTHLY, "red"):
                super().write([Update(key=key, adds={"attempts": 1})])
            return super().get(key)

    table = Busy()
    accountant(table).account([job("a", [attempt(1)])])
    given = Difference(name="red", figure="attempts", stored=1, computed=2)
    with pytest.raises(RetryLater, match="keep changing"):
        repairer(table).repair("team", DAY, [given], 0, ADA)


def test_days_after_today_are_not_read() -> None:
    read: list[str] = []

    class Noting(MemoryTable):
        def get(self, key: Key) -> Item | None:
            read.append(key.sk)
            return super().get(key)

    table = Noting()
    given = Difference(name="red", figure="attempts", stored=0, computed=1)
    repairer(table, begin_ms(DAY) + DAY_MS).repair("team", DAY, [given], 0, ADA)
    assert sorted(sk for sk in read if sk.endswith("#red") and sk != "00#red") == [f"{n:02d}#red" for n in range(1, 27)]
