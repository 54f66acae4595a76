"""What was used of a budget in its period, and until when nothing is left."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.budgets.budget import Budget, BudgetUse, Grant, Held, spent
from headway.budgets.periods import Every, Period, Rolling, counted_on, counts_until_ms, first_day
from headway.payers import Payer
from tests.core.builders import G5, P5

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOW_MS = ms("2026-11-25T12:00")
"""A Wednesday."""


def budget(amount: float = 100, period: Period = Every.MONTH, **more: object) -> Budget:
    return Budget(name="b", amount=amount, period=period, charges={P5: 1.0, G5: 0.5}, team="a", **more)  # type: ignore[arg-type]


def held(hours: float, *, until: str = "2026-11-25T12:00", count: int = 1, team: str = "a", pool: str = P5) -> Held:
    end_ms = ms(until)
    payer, begin_ms = Payer(team=team, owner="o"), end_ms - round(hours * HOUR_MS)
    return Held(payer=payer, demand={pool: count}, begin_ms=begin_ms, end_ms=end_ms)


@pytest.mark.parametrize(
    ("period", "first", "counted", "until"),
    [
        (Every.WEEK, "2026-11-23", "2026-11-23", "2026-11-30T00:00"),
        (Every.MONTH, "2026-11-01", "2026-11-01", "2026-12-01T00:00"),
        (Rolling(1), "2026-11-25", "2026-11-25", "2026-11-26T00:00"),
        (Rolling(30), "2026-10-27", "2026-11-25", "2026-12-25T00:00"),
    ],
    ids=["a week begins on Monday", "a month", "the present day", "the last thirty days"],
)
def test_the_period_of_a_moment(period: Period, first: str, counted: str, until: str) -> None:
    assert first_day(NOW_MS, period) == date.fromisoformat(first)
    day = counted_on(date(2026, 11, 25), period)
    assert day == date.fromisoformat(counted)
    assert counts_until_ms(day, period) == ms(until)


CASES: list[tuple[str, Budget, list[Held], float]] = [
    ("instances times hours times their charge", budget(), [held(10, count=2), held(4, pool=G5)], 22),
    ("of other teams nothing", budget(), [held(10, team="b")], 0),
    ("of pools without a charge nothing", budget(), [held(10, pool="ml.c5.large")], 0),
    ("of the last month nothing", budget(), [held(10, until="2026-10-31T23:00")], 0),
    ("of what ran over midnight of the first the part after it", budget(), [held(10, until="2026-11-01T04:00")], 4),
    ("of the last week nothing", budget(period=Every.WEEK), [held(10, until="2026-11-22T23:00")], 0),
    ("of the last days what is in them", budget(period=Rolling(2)), [held(30, until="2026-11-25T06:00")], 30),
    ("and not what is before them", budget(period=Rolling(1)), [held(30, until="2026-11-25T06:00")], 6),
]


@pytest.mark.parametrize(("of", "parts", "used"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_counts(of: Budget, parts: list[Held], used: float) -> None:
    assert BudgetUse().and_held(of, parts, NOW_MS).used(of, NOW_MS) == pytest.approx(used)


@pytest.mark.parametrize(
    ("named", "payer", "covered"),
    [
        ({"owner": "o"}, Payer(team="a", owner="o"), True),
        ({"owner": "o"}, Payer(team="a", owner="p"), False),
        ({"owner": "o", "team": "a"}, Payer(team="b", owner="o"), False),
        ({"tag": "project=x"}, Payer(team="a", owner="o", tags=("cost=1", "project=x")), True),
        ({"tag": "project=x"}, Payer(team="a", owner="o", tags=("project=y",)), False),
        ({"tag": "project=x", "team": "b"}, Payer(team="a", owner="o", tags=("project=x",)), False),
    ],
)
def test_a_budget_is_for_jobs_that_are_of_all_that_it_names(named: dict[str, str], payer: Payer, covered: bool) -> None:
    of = Budget(name="b", amount=1, period=Every.WEEK, charges={P5: 1.0}, **named)  # type: ignore[arg-type]
    assert of.covers(payer) is covered


@pytest.mark.parametrize(
    ("of", "parts", "until"),
    [
        (budget(10), [held(9.9)], None),
        (budget(10), [held(10)], "2026-12-01T00:00"),
        (budget(10, Every.WEEK), [held(12)], "2026-11-30T00:00"),
        (budget(10, Rolling(3)), [held(6, until="2026-11-23T12:00"), held(6)], "2026-11-26T00:00"),
        (budget(5, Rolling(3)), [held(6, until="2026-11-23T12:00"), held(6)], "2026-11-28T00:00"),
        (budget(10, grants=(Grant(amount=1, until_ms=NOW_MS + 1),)), [held(10)], None),
        (budget(10, grants=(Grant(amount=1, until_ms=NOW_MS),)), [held(10)], "2026-12-01T00:00"),
    ],
    ids=["a rest", "the month", "the week", "as soon as a day is over", "when both are", "a grant", "one that ended"],
)
def test_until_when_nothing_is_left(of: Budget, parts: list[Held], until: str | None) -> None:
    use = BudgetUse().and_held(of, parts, NOW_MS)
    assert use.spent_until_ms(of, NOW_MS) == (None if until is None else ms(until))
    assert [each.budget for each in spent([of], {"b": use}, NOW_MS)] == ([] if until is None else [of])


PERIODS = st.sampled_from([Every.WEEK, Every.MONTH, Rolling(1), Rolling(7), Rolling(90)])
PARTS = st.lists(
    st.builds(
        lambda end, hours, count: Held(
            payer=Payer(team="a", owner="o"), demand={P5: count}, begin_ms=end - hours * HOUR_MS, end_ms=end
        ),
        st.integers(NOW_MS - 100 * DAY_MS, NOW_MS),
        st.integers(0, 100),
        st.integers(1, 4),
    ),
    max_size=5,
)


@given(period=PERIODS, parts=PARTS, amount=st.floats(0.1, 500))
def test_something_is_left_again_when_it_is_said_and_not_before(
    period: Period, parts: list[Held], amount: float
) -> None:
    of = budget(amount, period)
    use = BudgetUse().and_held(of, parts, NOW_MS)
    until_ms = use.spent_until_ms(of, NOW_MS)
    if until_ms is None:
        assert use.used(of, NOW_MS) < amount
        return
    assert until_ms > NOW_MS
    assert use.used(of, until_ms - 1) >= amount - 1e-6
    assert use.used(of, until_ms) < amount + 1e-6


@given(period=PERIODS, parts=PARTS, cut=st.integers(0, 5))
def test_use_may_be_added_in_parts_and_what_counts_no_more_may_be_forgotten(
    period: Period, parts: list[Held], cut: int
) -> None:
    of = budget(100, period)
    at_once = BudgetUse().and_held(of, parts, NOW_MS).used(of, NOW_MS)
    in_parts = BudgetUse().and_held(of, parts[:cut], NOW_MS).and_held(of, parts[cut:], NOW_MS)
    assert in_parts.used(of, NOW_MS) == pytest.approx(at_once)


def test_an_attempt_that_is_said_to_run_for_ever_takes_no_more_than_the_period_has() -> None:
    for_ever = Held(payer=Payer(team="a", owner="o"), demand={P5: 1}, begin_ms=-(10**18), end_ms=10**18)
    of = budget(period=Rolling(1))
    assert BudgetUse().and_held(of, [for_ever], NOW_MS).used(of, NOW_MS) == 12
