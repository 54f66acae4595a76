"""Names of attempts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from headway_service.sagemaker_api.names import MAX_NAME_CHARS, attempt_name

PATTERN = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
names = st.from_regex(PATTERN, fullmatch=True).filter(lambda name: len(name) <= MAX_NAME_CHARS)


def test_the_first_attempt_has_the_users_name() -> None:
    assert attempt_name("train", 1) == "train"


@given(names, st.integers(1, 10_000))
def test_every_name_is_valid_in_sagemaker(job: str, number: int) -> None:
    name = attempt_name(job, number)
    assert PATTERN.fullmatch(name)
    assert len(name) <= MAX_NAME_CHARS


@given(names, st.integers(2, 50), st.integers(2, 50))
def test_attempts_of_a_job_never_share_a_name(job: str, left: int, right: int) -> None:
    assert (attempt_name(job, left) == attempt_name(job, right)) == (left == right)


@given(names, names, st.integers(2, 50))
def test_attempts_of_different_jobs_never_share_a_name(left: str, right: str, number: int) -> None:
    assert (attempt_name(left, number) == attempt_name(right, number)) == (left == right)


def test_a_generated_name_keeps_its_timestamp() -> None:
    generated = "pytorch-training-with-a-rather-long-prefix-2026-11-21-10-30-59"[:63]
    assert "2026-11-21-10-30-59" in attempt_name(generated, 2)
