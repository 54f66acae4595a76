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
def test_the_kind_of_a_failure_follows_from_its_text(status: str, reason: str | None, kind: str) -> None:
    assert failure_kind(status, reason) == kind


@given(st.text(), st.none() | st.text())
def test_every_text_has_a_kind(status: str, reason: str | None) -> None:
    assert failure_kind(status, reason) in FailureKind


def test_no_pattern_hides_another() -> None:
    for sign in SIGNS:
        assert failure_kind("Failed", f"{sign.reason}: text") is sign.kind
