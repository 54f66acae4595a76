"""Durations in words are near to what they stand for, and have two units at most."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.durations import in_words

UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}


@pytest.mark.parametrize(
    ("time_ms", "words"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (1, "less than 1 s"),
        (499, "less than 1 s"),
        (500, "1 s"),
        (59_499, "59 s"),
        (59_500, "1 min"),
        (90_000, "90 s"),
        (3_599_499, "59 min 59 s"),
        (3_599_500, "1 h"),
        (3_600_000, "1 h"),
        (9_000_000, "2 h 30 min"),
        (9_029_000, "2 h 30 min"),
        (9_030_000, "2 h 31 min"),
        (86_399_000, "24 h"),
        (86_400_000, "1 d"),
        (88_200_000, "24 h 30 min"),
        (216_000_000, "2 d 12 h"),
        (2_419_200_000, "28 d"),
    ],
)
def test_a_duration_has_two_units_of_which_the_first_counts_two_or_is_exact(time_ms: int, words: str) -> None:
    assert in_words(time_ms) == words


@given(st.integers(1000, 10**12))
def test_a_duration_in_words_is_off_by_half_of_its_smaller_unit_at_most(time_ms: int) -> None:
    parts = re.findall(r"(\d+) (d|h|min|s)", in_words(time_ms))
    assert 1 <= len(parts) <= 2
    told = sum(int(count) * UNITS_MS[unit] for count, unit in parts)
    smaller = {"d": "h", "h": "min", "min": "s", "s": "s"}
    (_, largest), *_ = parts
    assert abs(told - time_ms) <= UNITS_MS[smaller[largest]] // 2 + 500
