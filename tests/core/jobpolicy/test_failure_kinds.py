"""The kinds of failure, by SageMaker's messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.jobpolicy.failure_kinds import SIGNS, FailureKind, failure_kind


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        ("Failed", "InternalServerError: We encountered an internal error. Please try again.", "service"),
        ("Failed", "CapacityError: Unable to provision requested ML compute capacity.", "capacity"),
        ("Failed", "AlgorithmError: ExecuteUserScriptError: exit code 1", "code"),
        ("Failed", "ClientError: Data download failed: NoSuchKey", "request"),
        ("Failed", " ClientError: with a space", "request"),
        ("Failed", "The word InternalServerError further back", "unknown"),
        ("Failed", "", "unknown"),
        ("Failed", None, "unknown"),
        ("MaxRuntimeExceeded", None, "time"),
        ("MaxWaitTimeExceeded", "ClientError: it had waited too long", "time"),
    ],
)
def test_a_failure_is_of_the_kind_that_its_text_tells(status: str, reason: str | None, kind: str) -> None:
    assert failure_kind(status, reason) == kind


@given(st.text(), st.none() | st.text())
def test_whatever_sagemaker_says_is_of_some_kind(status: str, reason: str | None) -> None:
    assert failure_kind(status, reason) in FailureKind


def test_no_sign_hides_another() -> None:
    for sign in SIGNS:
        assert failure_kind("Failed", f"{sign.reason}: text") is sign.kind
