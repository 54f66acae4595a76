"""A member is stopped only if it is worse than the median of enough others at a step that they have reached."""

from __future__ import annotations

from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.early_stopping import Curve, Goal, MedianRule, Verdict, judge

LOSS = MedianRule(goal=Goal.MINIMIZE, min_members=3, min_step=1)


def flat(value: float, last: int = 10) -> Curve:
    """The same value at each step from 1."""
    steps = tuple(map(float, range(1, last + 1)))
    return Curve(steps, (value,) * last)


CURVES = st.lists(
    st.builds(
        lambda gaps, values: Curve(
            tuple(float(sum(gaps[: i + 1])) for i in range(len(gaps))), tuple(values[: len(gaps)])
        ),
        st.lists(st.integers(1, 4), min_size=1, max_size=6),
        st.lists(st.integers(-9, 9).map(float), min_size=6, max_size=6),
    ),
    max_size=8,
)
RULES = st.builds(
    MedianRule, goal=st.sampled_from(Goal), min_members=st.integers(1, 6), min_step=st.integers(0, 12).map(float)
)


def test_a_member_that_is_worse_than_the_median_stops() -> None:
    found = judge(flat(9), [flat(1), flat(2), flat(8)], LOSS)
    assert found == Verdict(step=10, best=9, median=2, compared=3)


@pytest.mark.parametrize(
    ("curve", "others"),
    [
        pytest.param(flat(2), [flat(1), flat(2), flat(8)], id="it is as good as the median"),
        pytest.param(flat(1.5), [flat(1), flat(2), flat(8)], id="it is better"),
        pytest.param(flat(9), [flat(1), flat(2)], id="there are too few others"),
        pytest.param(flat(9), [flat(1), flat(2), Curve((11.0,), (1.0,))], id="too few have values up to its step"),
        pytest.param(Curve((5.0,), (9.0,)), [flat(1, 4)] * 3, id="no other has reached a step of its"),
        pytest.param(Curve((1.0, 2.0), (1.0, 99.0)), [flat(2)] * 3, id="its best value is better, its last is worse"),
        pytest.param(Curve((1.0, 2.0, 3.0), (9.0, 9.0, 1.0)), [flat(2, 2)] * 3, id="it became better after that step"),
    ],
)
def test_a_member_goes_on(curve: Curve, others: list[Curve]) -> None:
    assert judge(curve, others, LOSS) is None


def test_a_member_is_not_compared_before_the_first_step() -> None:
    others = [flat(1), flat(2), flat(3)]
    late = MedianRule(goal=Goal.MINIMIZE, min_members=3, min_step=10)
    assert judge(flat(9, 9), others, late) is None
    assert judge(flat(9, 10), others, late) is not None


def test_the_greater_value_is_better_if_the_metric_is_maximized() -> None:
    others = [flat(1), flat(2), flat(8)]
    accuracy = MedianRule(goal=Goal.MAXIMIZE, min_members=3, min_step=1)
    assert judge(flat(1), others, accuracy) is not None
    assert judge(flat(9), others, accuracy) is None


def test_the_first_of_several_is_compared_where_enough_others_are() -> None:
    found = judge(flat(9, 20), [flat(1, 12), flat(2, 14), flat(3, 16)], LOSS)
    assert found is not None
    assert (found.step, found.compared) == (12, 3)


def test_the_median_is_that_of_averages_up_to_the_step() -> None:
    improving = Curve((1.0, 2.0, 3.0, 4.0), (8.0, 4.0, 0.0, 0.0))
    found = judge(Curve((1.0, 2.0), (7.0, 7.0)), [improving] * 3, LOSS)
    assert found is not None
    assert found.median == 6


@given(CURVES, CURVES, RULES)
def test_each_verdict_follows_from_the_values(own: list[Curve], others: list[Curve], rule: MedianRule) -> None:
    for curve in own:
        verdict = judge(curve, others, rule)
        if verdict is None:
            continue
        assert verdict.step in curve.steps
        assert verdict.step >= rule.min_step
        reached = [each for each in others if each.last >= verdict.step]
        assert verdict.compared >= rule.min_members
        assert len(reached) >= verdict.compared
        averages = [
            fmean(values)
            for each in reached
            if (values := [v for s, v in zip(each.steps, each.values, strict=True) if s <= verdict.step])
        ]
        assert verdict.median == median(averages)
        sign = 1 if rule.goal is Goal.MINIMIZE else -1
        assert all(sign * value > sign * verdict.median for value in curve.values)


@given(CURVES, RULES)
def test_not_all_of_an_array_are_stopped(curves: list[Curve], rule: MedianRule) -> None:
    verdicts = [judge(each, [*curves[:at], *curves[at + 1 :]], rule) for at, each in enumerate(curves)]
    assert not curves or None in verdicts
