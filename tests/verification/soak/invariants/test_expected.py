"""The check of what is expected of run times finds what rises, falls, or does not follow."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.expected import ExpectationInvariants
from headway_verification.soak.violations import Violated


def jobs(
    expected_ms: int, extension_ms: int = 10, *, left_ms: int = 99, entered_ms: int = 5, handicap_ms: int | None = None
) -> dict[str, dict[str, Any]]:
    handicap_ms = 20 * expected_ms if handicap_ms is None else handicap_ms
    summary = {
        "expectedMs": expected_ms,
        "extensionMs": extension_ms,
        "leftMs": left_ms,
        "handicapMs": handicap_ms,
    }
    return {"a": {"entryTime": entered_ms, "summary": summary}, "other": {"entryTime": 1}}


def checked(*states: dict[str, dict[str, Any]]) -> ExpectationInvariants:
    invariants = ExpectationInvariants()
    for state in states:
        invariants.check(state)
    return invariants


def test_expectations_that_fall_or_are_extended_are_right() -> None:
    checked(jobs(10), jobs(10), jobs(7), jobs(15, 20), jobs(1, 20), jobs(40, 80))
    # It entered again with another request.
    checked(jobs(10), jobs(11, 9, entered_ms=6, handicap_ms=0))
    checked(jobs(10), {"other": {"entryTime": 1}}, jobs(11, 9))


@pytest.mark.parametrize(
    ("states", "what"),
    [
        ([jobs(7), jobs(8)], "more is expected of a"),
        ([jobs(7, 20), jobs(8, 10)], "the extension of a falls to 10"),
        ([jobs(7), jobs(6, handicap_ms=140)], "the handicap of a"),
        ([jobs(7, left_ms=6)], "of a 7 ms are expected, 6 are left"),
        ([jobs(0)], "of a 0 ms"),
    ],
)
def test_what_may_not_happen_is_found(states: list[dict[str, dict[str, Any]]], what: str) -> None:
    with pytest.raises(Violated, match=what):
        checked(*states)


def test_a_restored_table_may_have_less() -> None:
    invariants = checked(jobs(7, 20))
    invariants.table_restored()
    invariants.check(jobs(9, 10))
