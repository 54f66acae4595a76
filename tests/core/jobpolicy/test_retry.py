"""Whether a failed job is tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.jobpolicy.failure_kinds import FailureKind
from headway.jobpolicy.retry import MAX_BACKOFF_MS, Failure, Retry, decide_retry

MINUTE = 60_000
RULES = {
    FailureKind.SERVICE: Retry(max_per_job=3, backoff_ms=MINUTE),
    FailureKind.CODE: Retry(max_per_job=2, backoff_ms=MINUTE, min_run_ms=120 * MINUTE),
    FailureKind.TIME: Retry(max_per_job=0, backoff_ms=MINUTE),
}
FAILED = Failure(kind=FailureKind.SERVICE, ran_ms=5 * MINUTE, retried=0, repeated=False)
CODE = replace(FAILED, kind=FailureKind.CODE, ran_ms=120 * MINUTE)


@pytest.mark.parametrize(
    ("failure", "wait_ms", "sentence"),
    [
        (FAILED, MINUTE, "retried in 1 min (retry 1 of 3)"),
        (replace(FAILED, retried=2), 4 * MINUTE, "retried in 4 min (retry 3 of 3)"),
        (replace(FAILED, retried=3), None, "a failure of the kind `service` is retried 3 times at most"),
        (replace(FAILED, repeated=True), MINUTE, "retried in 1 min (retry 1 of 3)"),
        (CODE, MINUTE, "retried in 1 min (retry 1 of 2)"),
        (replace(CODE, repeated=True), None, "it failed in the same way before"),
        (
            replace(CODE, ran_ms=120 * MINUTE - 1000),
            None,
            "a failure of the kind `code` is retried only if the attempt ran for 7200 s, and it ran for 7199 s",
        ),
        (replace(FAILED, kind=FailureKind.REQUEST), None, "a failure of the kind `request` is not retried"),
        (replace(FAILED, kind=FailureKind.TIME), None, "a failure of the kind `time` is not retried"),
    ],
)
def test_a_failed_job_is_retried_by_the_policy(failure: Failure, wait_ms: int | None, sentence: str) -> None:
    verdict = decide_retry(failure, RULES)
    assert (verdict.wait_ms, verdict.sentence) == (wait_ms, sentence)


@pytest.mark.parametrize(
    ("most", "failure", "sentence"),
    [
        (1, FAILED, "retried in 1 min (retry 1 of 3)"),
        (
            1,
            replace(FAILED, retried=1),
            "a failure of the kind `service` is retried once at most, as its request says",
        ),
        (0, FAILED, "a failure of the kind `service` is not retried, as its request says"),
        (9, replace(FAILED, retried=3), "a failure of the kind `service` is retried 3 times at most"),
        (0, replace(FAILED, kind=FailureKind.CAPACITY), "retried in 1 min (retry 1)"),
    ],
)
def test_a_request_may_allow_fewer_retries_but_not_of_launches_without_instances(
    most: int, failure: Failure, sentence: str
) -> None:
    rules = {**RULES, FailureKind.CAPACITY: Retry(max_per_job=None, backoff_ms=MINUTE)}
    assert decide_retry(failure, rules, most=most).sentence == sentence


retries = st.builds(
    Retry,
    max_per_job=st.none() | st.integers(0, 1000),
    backoff_ms=st.integers(0, 10**9),
    min_run_ms=st.integers(0, 10**9),
)
failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    ran_ms=st.integers(0, 10**10),
    retried=st.integers(0, 10_000),
    repeated=st.booleans(),
)


@given(failures, st.dictionaries(st.sampled_from(FailureKind), retries))
def test_retries_and_their_delays_are_bounded(failure: Failure, rules: dict[FailureKind, Retry]) -> None:
    wait_ms = decide_retry(failure, rules).wait_ms
    if wait_ms is not None:
        most = rules[failure.kind].max_per_job
        assert most is None or failure.retried < most
        assert 0 <= wait_ms <= MAX_BACKOFF_MS


@pytest.mark.parametrize("wrong", [{"max_per_job": -1}, {"backoff_ms": -1}, {"min_run_ms": -1}])
def test_negative_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicy, match="negative"):
        Retry(**{"max_per_job": 1, "backoff_ms": 1, **wrong})
