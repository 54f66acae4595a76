"""Ticks that end without a decision are counted in a row; those that fail tell nothing of the others."""

from __future__ import annotations

import pytest

from headway_verification.soak.invariants.liveness.decisions import MOST_DELAY_S, MOST_IN_A_ROW, DecisionInvariants
from headway_verification.soak.violations import Violated


def test_a_few_ticks_without_a_decision_are_allowed_while_faults_are_injected() -> None:
    found = DecisionInvariants()
    for _ in range(MOST_IN_A_ROW):
        found.ended(0)
    with pytest.raises(Violated, match="4 ticks in a row ended without a decision"):
        found.ended(0)


@pytest.mark.parametrize("between", ["a decision", "a failure"])
def test_a_decision_or_a_failure_ends_the_row(between: str) -> None:
    found = DecisionInvariants()
    for _ in range(3):
        for _ in range(MOST_IN_A_ROW):
            found.ended(0)
        if between == "a decision":
            found.ended(1)
        else:
            found.failed()


def test_a_tick_that_faults_have_delayed_for_long_does_not_count() -> None:
    found = DecisionInvariants()
    for _ in range(9):
        found.ended(0, MOST_DELAY_S + 1)


def test_each_tick_decides_while_no_faults_are_injected() -> None:
    found = DecisionInvariants()
    found.is_calm = True
    found.ended(1)
    with pytest.raises(Violated):
        found.ended(0)


def test_few_ticks_fail_in_a_row_while_no_faults_are_injected() -> None:
    found = DecisionInvariants()
    found.is_calm = True
    for _ in range(MOST_IN_A_ROW):
        found.failed()
    with pytest.raises(Violated, match="4 ticks in a row failed"):
        found.failed()
