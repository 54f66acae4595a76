"""Patterns of rules: any of them is matched, and soon."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.jobpolicy.patterns import matches
from tests.core.jobpolicy.test_rules import patterns


@given(st.text(alphabet="ab", max_size=20), patterns)
def test_a_pattern_never_fails_and_a_text_matches_itself(text: str, some: tuple[str, ...]) -> None:
    matches(text, some)
    assert matches(text, (*some, text))


def test_a_pattern_with_many_wildcards_is_matched_quickly() -> None:
    assert not matches("a" * 5_000 + "b", ("*a" * 100 + "c",))
