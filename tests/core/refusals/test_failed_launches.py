"""What a job keeps of its launches in a row that got no instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.refusals import Cause, FailedLaunches, NoInstances, add, add_of_outage
from headway.refusals.failed_launches import MAX_TEXT_CHARS

launches = st.builds(
    NoInstances,
    cause=st.sampled_from(Cause),
    launched_ms=st.integers(0, 10**6),
    known_ms=st.integers(10**6, 10**7),
    idled_ms=st.integers(0, 10**6),
    code=st.text(max_size=5),
    text=st.text(max_size=2 * MAX_TEXT_CHARS),
    by_request=st.booleans(),
    pools_size=st.integers(0, 9),
)


def failed(*row: NoInstances) -> FailedLaunches | None:
    before = None
    for launch in row:
        before = add(before, launch)
    return before


@given(st.lists(launches, min_size=1, max_size=6))
def test_a_row_counts_its_launches_and_has_the_first_begin_and_the_last_answer(row: list[NoInstances]) -> None:
    found = failed(*row)
    assert found is not None
    assert (found.count, found.since_ms) == (len(row), row[0].launched_ms)
    last = row[-1]
    assert (found.last_ms, found.idled_ms, found.cause, found.code) == (
        last.known_ms,
        last.idled_ms,
        last.cause,
        last.code,
    )
    assert found.text == last.text[:MAX_TEXT_CHARS]
    assert found.pools_size == last.pools_size
    assert found.idled_before_ms + found.idled_ms == sum(launch.idled_ms for launch in row)


@given(st.lists(launches, min_size=1, max_size=6))
def test_only_the_requests_own_fault_counts_without_a_break(row: list[NoInstances]) -> None:
    found = failed(*row)
    assert found is not None
    own = [launch for launch in row if launch.by_request]
    unbroken = [*row[max((n for n, each in enumerate(row) if not each.by_request), default=-1) + 1 :]]
    assert found.by_request_since_ms == (unbroken[0].launched_ms if unbroken else None)
    assert found.by_request_since_ms is None or own


def test_the_answer_is_the_code_and_the_sentence_as_far_as_there_are_any() -> None:
    at: dict[str, Any] = {"launched_ms": 0, "known_ms": 0, "cause": Cause.DENIED}
    said = (("", ""), ("", "b"), ("a", ""), ("a", "b"))
    answers = [add(None, NoInstances(**at, code=code, text=text)).answer for code, text in said]
    assert answers == ["", "b", "a", "a: b"]


@given(st.lists(launches, max_size=3), st.integers(10**7, 10**8))
def test_an_outage_leaves_what_is_known_of_a_job_and_delays_its_next_try(row: list[NoInstances], known_ms: int) -> None:
    before = failed(*row)
    outage = NoInstances(cause=Cause.UNANSWERED, launched_ms=known_ms, known_ms=known_ms)
    after = add_of_outage(before, outage)
    assert after.last_ms == known_ms
    if before is None or before.is_of_outage:
        assert (after.count, after.cause, after.is_of_outage) == (1, Cause.UNANSWERED, True)
    else:
        assert replace(after, last_ms=before.last_ms) == before
    again = replace(outage, known_ms=known_ms + 1)
    assert add_of_outage(after, again).count == after.count, "it is not counted"


@given(launches)
def test_the_last_launch_of_a_row_is_the_one_that_was_added(launch: NoInstances) -> None:
    found = add(None, launch)
    assert found.last_launch == replace(launch, text=launch.text[:MAX_TEXT_CHARS])


def test_only_launches_that_sagemaker_had_accepted_count_as_unprovided() -> None:
    found = None
    for accepted in (False, True, False, True):
        found = add(found, NoInstances(cause=Cause.QUOTA, launched_ms=0, known_ms=1, accepted=accepted))
    assert found is not None
    assert (found.count, found.unprovided) == (4, 2)
