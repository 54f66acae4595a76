"""The values of a metric over the steps of a training that may have been interrupted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.early_stopping import Curve

POINTS = st.lists(st.tuples(st.integers(0, 20).map(float), st.integers(-9, 9).map(float)), max_size=12)


@pytest.mark.parametrize(
    ("runs", "steps", "values"),
    [
        pytest.param([[(1.0, 9.0), (2.0, 8.0)]], (1, 2), (9, 8), id="one run"),
        pytest.param([[(1.0, 9.0), (2.0, 8.0)], [(3.0, 7.0)]], (1, 2, 3), (9, 8, 7), id="a run continues"),
        pytest.param(
            [[(1.0, 9.0), (2.0, 8.0), (3.0, 7.0)], [(2.0, 6.0)]],
            (1, 2),
            (9, 6),
            id="a run repeats steps that were lost",
        ),
        pytest.param([[(5.0, 9.0)], [(1.0, 8.0), (2.0, 7.0)]], (1, 2), (8, 7), id="a run begins from the start"),
        pytest.param([[(1.0, 9.0), (1.0, 8.0)]], (1,), (8,), id="the last value at a step counts"),
        pytest.param([[(2.0, 9.0), (1.0, 8.0), (3.0, 7.0)]], (2, 3), (9, 7), id="a value without a known place"),
        pytest.param([[], [(1.0, 9.0)], []], (1,), (9,), id="runs without values"),
    ],
)
def test_runs_become_one_curve(
    runs: list[list[tuple[float, float]]], steps: tuple[float, ...], values: tuple[float, ...]
) -> None:
    assert Curve.of_runs(runs) == Curve(steps, values)


@pytest.mark.parametrize("runs", [[], [[]], [[], []]])
def test_there_is_no_curve_without_values(runs: list[list[tuple[float, float]]]) -> None:
    assert Curve.of_runs(runs) is None


@pytest.mark.parametrize(
    ("steps", "values"), [((), ()), ((1.0,), ()), ((2.0, 1.0), (1.0, 1.0)), ((1.0, 1.0), (1.0, 1.0))]
)
def test_the_steps_of_a_curve_ascend(steps: tuple[float, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="steps"):
        Curve(steps, values)


@given(st.lists(POINTS, max_size=4))
def test_any_runs_give_ascending_steps_with_values_of_theirs(runs: list[list[tuple[float, float]]]) -> None:
    curve = Curve.of_runs(runs)
    assert (curve is None) == (not any(runs))
    if curve is not None:
        assert all(earlier < later for earlier, later in pairwise(curve.steps))
        assert set(zip(curve.steps, curve.values, strict=True)) <= {point for run in runs for point in run}


def test_averages_and_steps_are_those_up_to_a_step() -> None:
    curve = Curve((1.0, 2.0, 4.0), (9.0, 7.0, 2.0))
    assert [curve.average_until(step) for step in (0.5, 1, 3, 4, 9)] == [None, 9, 8, 6, 6]
    assert [curve.last_until(step) for step in (0.5, 1, 3, 4, 9)] == [None, 1, 2, 4, 4]
    assert curve.last == 4
