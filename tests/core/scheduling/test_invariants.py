"""Wrong plans do not get past the verification."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.errors import InvariantViolation
from headway.model import Alternative, Demand, Snapshot, WaitingJob
from headway.plan import Action, Plan, Preempt, Start
from headway.reasons import Reason, ReasonCode
from headway.refusals import Cause, FailedLaunches
from headway.scheduling.invariants import check_plan
from tests.core.builders import G5, P5, changed, held, job, reserved, snapshot

WHY = Reason(code=ReasonCode.STARTED, message="a test")


def start(name: str, count: int = 1) -> Start:
    return Start(job=name, demand={P5: count}, reason=WHY)


def preempt(name: str, for_job: str, freed: Demand | None = None) -> Preempt:
    return Preempt(job=name, attempt=name, for_job=for_job, freed={P5: 1} if freed is None else freed, reason=WHY)


def refused(other: FailedLaunches | None = None) -> WaitingJob:
    """A job that is unlaunchable on its first preference, and maybe on the other one."""
    return replace(job("a", 5), failed=IN_VAIN, alternatives=(Alternative(demand={G5: 1}, failed=other),))


IN_VAIN = FailedLaunches(
    count=3,
    since_ms=0,
    last_ms=0,
    idled_ms=0,
    cause=Cause.DENIED,
    code="AccessDenied",
    text="no",
    by_request_since_ms=None,
)
BOTH = changed(held("x", 1), demand={P5: 1, G5: 1})

WRONG: list[tuple[str, Snapshot, list[Action], str]] = [
    ("a start beyond the pool", snapshot(held("x"), job("a"), size=1), [start("a")], "would exceed a pool"),
    ("two starts beyond the pool", snapshot(job("a"), job("b"), size=1), [start("a"), start("b")], "exceed"),
    ("a start on somebody's reservation", snapshot(reserved("b"), job("a"), size=1), [start("a")], "exceed"),
    ("a start of a job that does not wait", snapshot(), [start("a")], "does not wait"),
    ("a second attempt of a job", snapshot(job("a")), [start("a"), start("a")], "two live attempts"),
    ("a start on a part of the demand", snapshot(job("a", count=2)), [start("a", 1)], "a part of its demand"),
    (
        "a preemption of an equal",
        snapshot(held("x", 5), job("a", 5), size=1),
        [preempt("x", "a")],
        "priority is not higher",
    ),
    (
        "a preemption of who is stopping already",
        snapshot(held("x", 1, stopping=True), job("a", 5), size=1),
        [preempt("x", "a")],
        "stopping already",
    ),
    (
        "a preemption for a job whose last attempt got no instances",
        snapshot(held("x", 1), job("a", 5, preempts=False), size=1),
        [preempt("x", "a")],
        "preempts no job",
    ),
    (
        "a preemption on the alternative on which a job is unlaunchable",
        snapshot(BOTH, refused(), pools={P5: 1, G5: 1}),
        [preempt("x", "a")],
        "unlaunchable",
    ),
    (
        "a preemption that frees no instances for a job that is unlaunchable on all alternatives",
        snapshot(BOTH, refused(IN_VAIN), pools={P5: 1, G5: 1}),
        [preempt("x", "a", {})],
        "unlaunchable",
    ),
    (
        "a preemption for a job that starts",
        snapshot(held("x", 1), job("a", 5), size=2),
        [start("a"), preempt("x", "a")],
        "which starts",
    ),
    (
        "a victim that frees more than it holds",
        snapshot(held("x", 1), job("a", 5, count=2), size=2),
        [preempt("x", "a", {P5: 2})],
        "cannot free",
    ),
    (
        "more freed than is demanded",
        snapshot(held("x", 1), held("y", 1), job("a", 5), size=2),
        [preempt("x", "a"), preempt("y", "a")],
        "more is freed",
    ),
    (
        "the same victim twice",
        snapshot(held("x", 1, count=2), job("a", 5), job("b", 4), size=2),
        [preempt("x", "a"), preempt("x", "b")],
        "preempted twice",
    ),
]


@pytest.mark.parametrize(("snap", "actions", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_plan_is_refused(snap: Snapshot, actions: list[Action], message: str) -> None:
    with pytest.raises(InvariantViolation, match=message):
        check_plan(snap, Plan(actions=tuple(actions), waits=()))


def test_a_preemption_that_frees_no_instances_may_be_for_any_alternative() -> None:
    """It frees a part of the limit of its team."""
    shot = snapshot(BOTH, refused(), pools={P5: 1, G5: 1})
    check_plan(shot, Plan(actions=(preempt("x", "a", {}),), waits=()))
