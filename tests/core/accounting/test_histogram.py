"""Histograms of durations: merged without loss, quantiles within the error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.histogram import (
    MAX_BUCKETS,
    MAX_DURATION_S,
    RELATIVE_ERROR,
    bucket_of,
    duration_of,
    merged,
    quantile,
)

durations = st.floats(0, MAX_DURATION_S) | st.integers(0, MAX_DURATION_S)


def histogram(values: Sequence[float]) -> dict[int, int]:
    return dict(Counter(map(bucket_of, values)))


@given(durations)
def test_a_bucket_stands_for_its_durations_within_the_error(duration_s: float) -> None:
    shown = duration_of(bucket_of(duration_s))
    assert 0 <= bucket_of(duration_s) < MAX_BUCKETS
    if duration_s < 1:
        assert shown == 0
    else:
        assert abs(shown - duration_s) <= RELATIVE_ERROR * duration_s * (1 + 1e-9)


@given(st.lists(durations, min_size=1), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_a_quantile_is_within_the_error_of_the_exact_one(values: list[float], part: float) -> None:
    exact = sorted(values)[max(1, math.ceil(part * len(values))) - 1]
    found = quantile(histogram(values), part)
    assert found is not None
    assert abs(found - exact) <= (RELATIVE_ERROR * exact if exact >= 1 else 1) * (1 + 1e-9)


@given(st.lists(st.lists(durations)))
def test_merged_histograms_are_the_histogram_of_all_durations(parts: list[list[float]]) -> None:
    assert merged(*map(histogram, parts)) == histogram([value for part in parts for value in part])


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None


@pytest.mark.parametrize("longer", [MAX_DURATION_S + 1, 10**30])
def test_a_duration_beyond_the_limit_counts_as_the_limit(longer: float) -> None:
    assert bucket_of(longer) == bucket_of(MAX_DURATION_S)
