"""The check of attained service finds what falls."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.service import ServiceInvariants
from headway_verification.soak.violations import Violated


def jobs(attained_ms: int | None, handicap_ms: int = 0, entered_ms: int = 5) -> dict[str, dict[str, Any]]:
    summary = {"handicapMs": handicap_ms, **({} if attained_ms is None else {"attainedMs": attained_ms})}
    return {"a": {"entryTime": entered_ms, "summary": summary}, "other": {"entryTime": 1}}


def checked(*states: dict[str, dict[str, Any]]) -> ServiceInvariants:
    invariants = ServiceInvariants()
    for state in states:
        invariants.check(state)
    return invariants


def test_service_and_turns_that_grow_are_right() -> None:
    checked(jobs(0), jobs(0), jobs(7, 10), jobs(8, 10))
    # It entered again in another order, and then in this one.
    checked(jobs(7, 10), jobs(None), jobs(0))
    # It asked for more, so its bound is another one.
    checked(jobs(7, 10), jobs(7, 1, entered_ms=9))


@pytest.mark.parametrize(
    ("states", "what"),
    [([jobs(7), jobs(6)], "service of a"), ([jobs(7, 10), jobs(7, 9)], "turn of a"), ([jobs(7), jobs(0)], "service")],
)
def test_service_and_turns_that_fall_are_found(states: list[dict[str, dict[str, Any]]], what: str) -> None:
    with pytest.raises(Violated, match=f"the {what}"):
        checked(*states)


def test_a_restored_table_may_have_less() -> None:
    invariants = checked(jobs(7, 10))
    invariants.table_restored()
    invariants.check(jobs(6))
