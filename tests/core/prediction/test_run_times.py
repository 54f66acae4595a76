"""What completed jobs say about the run time of another one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.histogram import MAX_DURATION_S, RELATIVE_ERROR, bucket_of
from headway.days import Period, begin_ms
from headway.prediction.fading import FULL_WEIGHT, MONTHS_COUNTED, months_counted, weight_of
from headway.prediction.kinds import RunKind
from headway.prediction.run_times import MIN_RUNS, Prediction, RunTimes

NOW_MS = begin_ms(date(2026, 11, 26))
#: Months by their age, the present one first.
MONTHS = [Period(month=month) for month in ("2026-11", "2026-10", "2026-09", "2026-08", "2026-07", "2025-11")]
NOW = MONTHS[0]
BERT = RunKind(owner="ann", source="train.py", instances="ml.p5.48xlarge*2", stem="bert")
MINUTE = 60_000

kinds = st.builds(
    RunKind,
    owner=st.sampled_from("ab"),
    source=st.sampled_from("st"),
    instances=st.sampled_from("12"),
    stem=st.sampled_from("xy"),
)
minutes = st.integers(1, 50_000)
runs = st.lists(st.tuples(kinds, st.sampled_from(MONTHS), minutes), max_size=40)


def known(*observed: tuple[RunKind, Period, int], now_ms: int = NOW_MS) -> RunTimes:
    """The run times of jobs: a kind, a month and minutes each."""
    found = RunTimes(now_ms)
    for kind, month, each in observed:
        found.add(kind, month, {bucket_of(each * 60): 1})
    return found


def ran(kind: RunKind, *lasted: int, month: Period = NOW) -> list[tuple[RunKind, Period, int]]:
    return [(kind, month, each) for each in lasted]


def about(found_ms: int, expected_minutes: float) -> bool:
    return found_ms == pytest.approx(expected_minutes * MINUTE, rel=2 * RELATIVE_ERROR)


def predicted(found: Prediction | None) -> Prediction:
    assert found is not None
    return found


def test_a_kind_that_has_run_often_is_predicted_by_its_own_runs() -> None:
    others = ran(replace(BERT, owner="bob"), *[1000] * 20)
    found = predicted(known(*ran(BERT, *range(50, 71)), *others).predict(BERT))
    assert about(found.median_ms, 60)
    assert about(found.low_ms, 52)
    assert about(found.expected_ms, 65)
    assert found.high_ms >= 68 * MINUTE
    assert (found.runs, found.shared) == (21, 4)


@pytest.mark.parametrize(
    ("like", "shared"),
    [
        (BERT, 4),
        (replace(BERT, stem="other"), 3),
        (replace(BERT, instances="ml.p5.48xlarge*4"), 2),
        (replace(BERT, source="other.py"), 1),
        (replace(BERT, owner="bob"), 0),
    ],
)
def test_the_most_specific_class_with_enough_runs_is_used(like: RunKind, shared: int) -> None:
    found = predicted(known(*ran(like, 60, 60, 60)).predict(BERT))
    assert (found.runs, found.shared) == (3, shared)
    assert about(found.median_ms, 60)


def test_nothing_is_predicted_by_too_few_runs() -> None:
    assert known().predict(BERT) is None
    assert known(*ran(BERT, *[60] * (MIN_RUNS - 1))).predict(BERT) is None
    assert known(*ran(BERT, *[60] * MIN_RUNS)).predict(BERT) is not None


def test_a_few_runs_of_a_kind_leave_the_interval_to_wider_classes() -> None:
    others = ran(replace(BERT, source="other.py"), *[5] * 20, *[600] * 20)
    few = predicted(known(*others, *ran(BERT, 60, 60, 60)).predict(BERT))
    many = predicted(known(*others, *ran(BERT, *[60] * 40)).predict(BERT))
    assert about(few.median_ms, 60)
    assert about(few.low_ms, 5)
    assert about(few.high_ms, 600)
    assert about(many.low_ms, 60)
    assert about(many.high_ms, 60)


def test_old_runs_fade_so_that_changes_are_followed() -> None:
    old, new = ran(BERT, *[600] * 8, month=MONTHS[3]), ran(BERT, *[60] * 5)
    assert about(predicted(known(*old, *new).predict(BERT)).median_ms, 60)
    assert about(predicted(known(*ran(BERT, *[600] * 8), *new).predict(BERT)).median_ms, 600)
    assert known(*ran(BERT, *[60] * 9, month=MONTHS[MONTHS_COUNTED])).predict(BERT) is None


def test_the_weight_halves_each_month_and_then_ends() -> None:
    weights = [weight_of(month, NOW_MS) for month in MONTHS]
    assert weights == [FULL_WEIGHT, FULL_WEIGHT // 2, FULL_WEIGHT // 4, FULL_WEIGHT // 8, 0, 0]
    assert weight_of(Period(month="2026-12"), NOW_MS) == FULL_WEIGHT


def test_the_months_that_count_are_those_with_a_weight() -> None:
    assert list(months_counted(NOW_MS)) == MONTHS[:MONTHS_COUNTED]
    january = months_counted(begin_ms(date(2026, 1, 31)))
    assert [each.month for each in january] == ["2026-01", "2025-12", "2025-11", "2025-10"]


def test_a_job_that_runs_is_predicted_by_those_that_ran_longer() -> None:
    found = known(*ran(BERT, *[10] * 10, 100, 110, 120))
    assert about(predicted(found.predict(BERT)).median_ms, 10)
    later = predicted(found.predict(BERT, ran_ms=20 * MINUTE))
    assert about(later.median_ms, 110)
    assert later.runs == 3
    # Two have run longer than that, which is too few.
    assert found.predict(BERT, ran_ms=107 * MINUTE) is None


def test_a_prediction_ends_at_the_limit_of_the_job() -> None:
    found = known(*ran(BERT, *range(50, 71)))
    cut = predicted(found.predict(BERT, limit_ms=60 * MINUTE))
    assert cut.low_ms < cut.high_ms == 60 * MINUTE


@given(runs, kinds, st.integers(0, 60_000), st.none() | minutes)
def test_a_prediction_is_ordered_and_within_what_is_possible(
    observed: list[tuple[RunKind, Period, int]], kind: RunKind, ran_minutes: int, limit: int | None
) -> None:
    ran_ms, limit_ms = ran_minutes * MINUTE, limit and limit * MINUTE
    found = known(*observed).predict(kind, ran_ms=ran_ms, limit_ms=limit_ms)
    longer = [each for _, month, each in observed if month in MONTHS[:MONTHS_COUNTED] and each * MINUTE > ran_ms]
    if found is None:
        # The durations of a bucket may be on both sides of the time.
        assert len([each for each in longer if each * MINUTE * (1 - 2 * RELATIVE_ERROR) > ran_ms]) < MIN_RUNS
        return
    assert ran_ms <= found.low_ms <= found.median_ms <= found.expected_ms <= found.high_ms
    assert found.high_ms <= MAX_DURATION_S * 1000
    assert found.runs >= MIN_RUNS
    if limit_ms is not None:
        assert found.high_ms <= max(limit_ms, ran_ms)


@given(runs, kinds, st.randoms())
def test_the_order_in_which_runs_are_added_does_not_matter(
    observed: list[tuple[RunKind, Period, int]], kind: RunKind, random: Random
) -> None:
    shuffled = list(observed)
    random.shuffle(shuffled)
    together: dict[tuple[RunKind, Period], Counter[int]] = {}
    for each, month, lasted in shuffled:
        together.setdefault((each, month), Counter())[bucket_of(lasted * 60)] += 1
    merged = RunTimes(NOW_MS)
    for (each, month), histogram in together.items():
        merged.add(each, month, histogram)
    assert merged.predict(kind) == known(*observed).predict(kind)


@given(st.lists(minutes, min_size=10, max_size=60))
def test_among_runs_of_one_kind_about_four_of_five_are_within_the_interval(lasted: list[int]) -> None:
    found = predicted(known(*ran(BERT, *lasted)).predict(BERT))
    low, high = found.low_ms * (1 - 2 * RELATIVE_ERROR), found.high_ms * (1 + 2 * RELATIVE_ERROR)
    assert sum(low <= each * MINUTE <= high for each in lasted) >= 0.8 * len(lasted) - 1
