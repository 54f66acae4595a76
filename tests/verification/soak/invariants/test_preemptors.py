"""The invariant of jobs of which SageMaker selects one pool."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.preemptors import PreemptorInvariants
from headway_verification.soak.violations import Violated
from tests.core.builders import G5, P5

ONE_OF = {"w": {"summary": {"oneOf": True}}}


def stopped(*pools: str, cause: str = "preemption") -> dict[str, Any]:
    return {"freedFor": "w", "freed": dict.fromkeys(pools, 1), "stopCause": cause}


def test_jobs_are_stopped_in_one_pool_at_most() -> None:
    PreemptorInvariants().check(ONE_OF, {"a": stopped(P5), "b": stopped(P5)}, {})
    PreemptorInvariants().check({"w": {"summary": {}}}, {"a": stopped(P5, G5)}, {})
    for attempts in ({"a": stopped(P5, G5)}, {"a": stopped(P5), "b": stopped(G5)}):
        with pytest.raises(Violated, match="in several pools"):
            PreemptorInvariants().check(ONE_OF, attempts, {})


def test_what_was_freed_counts_as_long_as_it_is_reserved() -> None:
    for reserved, violated in (({"w": {"demand": {P5: 1}}}, True), ({}, False)):
        invariants = PreemptorInvariants()
        invariants.check(ONE_OF, {"a": stopped(P5)}, {})
        invariants.check(ONE_OF, {}, reserved)
        if violated:
            with pytest.raises(Violated):
                invariants.check(ONE_OF, {"b": stopped(G5)}, reserved)
        else:
            invariants.check(ONE_OF, {"b": stopped(G5)}, reserved)


def test_attempts_without_instances_give_way_in_all_of_them() -> None:
    attempts = {"a": stopped(P5, G5, cause="no-instances"), "b": stopped(G5)}
    PreemptorInvariants().check(ONE_OF, attempts, {})
