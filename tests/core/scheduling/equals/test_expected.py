"""What is expected of run times: when more of an attempt is expected."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling.equals.current import current_handicap_ms
from headway.scheduling.equals.expected import LEAST_EXPECTED_MS, MAX_EXTENSIONS, extended, extensions_ms
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS
from tests.core.builders import NOW_MS, changed, held

HOUR = 3_600_000


def test_a_job_of_the_least_expectation_reaches_the_longest_limit_in_the_most_extensions() -> None:
    attempt = changed(
        held("x", since=NOW_MS),
        left_ms=LONGEST_LIMIT_MS,
        expected_ms=LEAST_EXPECTED_MS,
        extension_ms=LEAST_EXPECTED_MS,
    )
    assert len(list(extensions_ms(attempt))) == MAX_EXTENSIONS


def test_an_attempt_whose_job_counts_with_its_limit_is_never_extended() -> None:
    assert list(extensions_ms(changed(held("x"), left_ms=HOUR))) == []
    assert list(extensions_ms(held("x"))) == []


def test_an_attempt_of_which_all_that_is_left_is_expected_is_never_extended() -> None:
    attempt = changed(held("x"), left_ms=HOUR, expected_ms=HOUR, extension_ms=HOUR)
    assert list(extensions_ms(attempt)) == []


@given(st.integers(2, 99 * HOUR), st.integers(1, 99 * HOUR), st.integers(LEAST_EXPECTED_MS, 9 * HOUR))
def test_the_handicap_of_an_attempt_rises_when_more_is_expected_and_falls_at_all_other_times(
    left_ms: int, expected_ms: int, extension_ms: int
) -> None:
    attempt = changed(
        held("x", since=NOW_MS),
        left_ms=left_ms,
        expected_ms=min(expected_ms, left_ms),
        extension_ms=extension_ms,
        handicap_ms=10 * min(expected_ms, left_ms),
    )
    before_ms = NOW_MS
    for at_ms in extensions_ms(attempt):
        assert current_handicap_ms(attempt, at_ms - 1) <= current_handicap_ms(attempt, before_ms)
        assert current_handicap_ms(attempt, at_ms) >= current_handicap_ms(attempt, at_ms - 1)
        before_ms = at_ms
    assert extended(attempt.terms.standing.expected_ms or 0, extension_ms, left_ms, before_ms - NOW_MS)[0] == left_ms
