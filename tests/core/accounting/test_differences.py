"""Sums that differ from what was computed again: each figure that has too much or too little is found."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.differences import OTHER, Difference, differences

NAMES = st.sampled_from(["red", "blue", ""])
FIGURES = st.dictionaries(st.sampled_from(["attempts", "used.p", "w.3"]), st.integers(1, 5), max_size=3)
JOBS = st.lists(st.dictionaries(NAMES, FIGURES, max_size=2), max_size=6)


def summed(jobs: list[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    sums: dict[str, Counter[str]] = {}
    for job in jobs:
        for name, figures in job.items():
            sums.setdefault(name, Counter()).update(figures)
    return {name: dict(figures) for name, figures in sums.items()}


@given(JOBS)
def test_sums_of_exactly_these_jobs_do_not_differ(jobs: list[dict[str, dict[str, int]]]) -> None:
    assert differences(summed(jobs), jobs) == []


@given(JOBS, NAMES, st.sampled_from(["attempts", "used.p"]), st.sampled_from([-1, 1]))
def test_a_figure_with_more_or_less_is_found_alone(
    jobs: list[dict[str, dict[str, int]]], name: str, figure: str, more: int
) -> None:
    stored = summed(jobs)
    right = stored.setdefault(name, {}).get(figure, 0)
    stored[name][figure] = right + more
    expected = Difference(name=name, figure=figure, stored=right + more, computed=right)
    assert differences(stored, jobs) == [expected]


def test_names_without_a_sum_of_their_own_are_together() -> None:
    stored = {"red": {"attempts": 1}, OTHER: {"attempts": 3}}
    jobs = [{"red": {"attempts": 1}}, {"blue": {"attempts": 1}}, {"green": {"attempts": 1}}]
    assert differences(stored, jobs) == [Difference(name=OTHER, figure="attempts", stored=3, computed=2)]
    del stored[OTHER]
    assert [each.name for each in differences(stored, jobs)] == ["blue", "green"]
