"""Averages that fade: exact, whatever the order and the grouping of the spans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.past_use.averages import PastUse, Span, counted_until, known, later
from headway.past_use.fading import faded, part_of_average
from tests.core.builders import G5, P5

DAY = 86_400_000
NOW = 1_000 * DAY


@pytest.mark.parametrize(
    ("age_ms", "half_life_ms", "counts"),
    [(0, DAY, 1.0), (DAY, DAY, 0.5), (2 * DAY, DAY, 0.25), (7 * DAY, 14 * DAY, 0.5**0.5), (-DAY, DAY, 1.0)],
    ids=["now", "a half-life", "two", "half of one", "a time to come, as clocks differ"],
)
def test_what_was_used_a_half_life_ago_counts_half(age_ms: int, half_life_ms: int, counts: float) -> None:
    assert faded(age_ms, half_life_ms) == pytest.approx(counts)


@pytest.mark.parametrize(
    ("begin", "end", "part"),
    [(-10_000, 0, 1.0), (-1, 0, 0.5), (-10_000, -1, 0.5), (-2, -1, 0.25), (0, 0, 0.0), (1, 2, 0.0), (-1, 5, 0.5)],
    ids=["for ever", "the last half-life", "all before it", "the one before", "no time", "to come", "until to come"],
)
def test_the_part_of_a_span(begin: int, end: int, part: float) -> None:
    assert part_of_average(NOW + begin * DAY, NOW + end * DAY, NOW, DAY) == pytest.approx(part)


def test_who_holds_the_same_for_ever_has_that_average() -> None:
    held = Span(team="a", demand={P5: 4, G5: 1}, begin_ms=0, end_ms=NOW)
    found = later({"a": PastUse(since_ms=0)}, 0, NOW, [held], 7 * DAY)
    assert found["a"].average == pytest.approx({P5: 4.0, G5: 1.0})


def test_a_new_team_is_known_from_now_on_and_one_that_left_is_forgotten() -> None:
    found = known({"a": PastUse(since_ms=5), "gone": PastUse(since_ms=5)}, ["a", "new"], NOW)
    assert found == {"a": PastUse(since_ms=5), "new": PastUse(since_ms=NOW, unknown=1.0)}


def test_what_a_team_held_before_it_was_known_does_not_count() -> None:
    held = Span(team="a", demand={P5: 4}, begin_ms=0, end_ms=NOW)
    new = {"a": PastUse(since_ms=NOW - 7 * DAY, unknown=1.0)}
    half = later(new, NOW - 7 * DAY, NOW, [held], 7 * DAY)["a"]
    assert [half.average[P5], half.unknown] == pytest.approx([2.0, 0.5])
    before = Span(team="a", demand={P5: 4}, begin_ms=0, end_ms=NOW - 8 * DAY)
    assert later(new, NOW - 7 * DAY, NOW, [before], 7 * DAY)["a"].average == {P5: 0.0}


def test_a_team_that_is_not_known_is_left_out() -> None:
    assert later({}, 0, NOW, [Span(team="a", demand={P5: 4}, begin_ms=0, end_ms=NOW)], 7 * DAY) == {}


@given(days=st.integers(1, 90), other=st.integers(1, 365), after=st.integers(0, 60))
def test_who_holds_the_same_for_ever_keeps_that_average_when_the_half_life_changes(days: int, other: int, after: int):
    """Its span goes on over the change."""
    end_ms = NOW + after * DAY
    running = Span(team="a", demand={P5: 3}, begin_ms=0, end_ms=NOW)
    until_now = counted_until(later({"a": PastUse(since_ms=0)}, 0, NOW, [running], days * DAY), NOW)
    goes_on = replace(running, end_ms=end_ms)
    assert later(until_now, NOW, end_ms, [goes_on], other * DAY)["a"].average[P5] == pytest.approx(3, rel=0.01)


SPANS = st.lists(
    st.builds(
        lambda team, count, begin, length: Span(team=team, demand={P5: count}, begin_ms=begin, end_ms=begin + length),
        st.sampled_from("ab"),
        st.integers(1, 8),
        st.integers(NOW - 30 * DAY, NOW),
        st.integers(0, 5 * DAY),
    ),
    max_size=6,
)


@given(spans=SPANS, cut=st.integers(0, 6), at_ms=st.integers(NOW - 30 * DAY, NOW), days=st.integers(1, 365))
def test_spans_may_be_added_late_and_in_parts(spans: list[Span], cut: int, at_ms: int, days: int) -> None:
    end_ms, half_life_ms = NOW + 6 * DAY, days * DAY
    both = {team: PastUse(since_ms=0) for team in "ab"}
    at_once = later(both, 0, end_ms, spans, half_life_ms)
    is_first = [number < cut and each.end_ms <= at_ms for number, each in enumerate(spans)]
    first, rest = (
        [each for each, is_it in zip(spans, is_first, strict=True) if is_it is want] for want in (True, False)
    )
    in_parts = later(later(both, 0, at_ms, first, half_life_ms), at_ms, end_ms, rest, half_life_ms)
    for team in both:
        assert in_parts[team].average == pytest.approx(at_once[team].average, abs=1e-9)


@given(spans=SPANS)
def test_nobody_uses_more_on_average_than_at_most_at_once(spans: list[Span]) -> None:
    found = later({team: PastUse(since_ms=0) for team in "ab"}, 0, NOW, spans, 7 * DAY)
    for team, past in found.items():
        most = sum(each.demand[P5] for each in spans if each.team == team)
        assert 0 <= past.average.get(P5, 0.0) <= most
