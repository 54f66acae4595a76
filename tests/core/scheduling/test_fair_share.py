"""Guarantees, limits, weights, aging, and protection from preemption."""

from __future__ import annotations

import pytest

from headway.errors import InvalidPolicy
from headway.model import Allocation, Reservation, WaitingJob
from headway.policy import Ageing, Policy, Team
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import (
    NOW_MS,
    P5,
    changed,
    code_of,
    held,
    job,
    preemptions,
    reason_of,
    reserved,
    snapshot,
    starts,
)

Parts = tuple[WaitingJob | Allocation | Reservation, ...]
A2 = Policy(teams={"a": Team(guaranteed={P5: 2}), "b": Team()})
BOTH = Policy(teams={"a": Team(guaranteed={P5: 2}), "b": Team(guaranteed={P5: 2})})
LIMIT = Policy(teams={"a": Team(limit={P5: 2}), "b": Team()})
HEAVY = Policy(teams={"a": Team(weight=2), "b": Team()})

CASES: list[tuple[str, Policy, Parts, int, list[str], list[tuple[str, str]]]] = [
    ("a team borrows what others leave idle", BOTH, (held("x", team="b", count=2), job("y", team="b")), 4, ["y"], []),
    (
        "a team reclaims its guarantee from a borrower, whatever the priorities",
        A2,
        (held("x", 9, team="b"), held("y", 8, team="b"), job("w", 0, team="a")),
        2,
        [],
        [("y", "w")],
    ),
    (
        "nobody reclaims more than the guarantee",
        A2,
        (held("x", 9, team="b"), held("y", 9, team="a", count=2), job("w", 0, team="a")),
        3,
        [],
        [],
    ),
    (
        "a team keeps its guarantee against higher priority of others",
        A2,
        (held("x", 0, team="a", count=2), job("w", 9, team="b")),
        2,
        [],
        [],
    ),
    (
        "what a team has borrowed gives way to higher priority of others",
        A2,
        (held("x", 0, team="a", count=2), held("y", 0, team="a"), job("w", 9, team="b")),
        3,
        [],
        [("y", "w")],
    ),
    (
        "teams that no rule names preempt each other by priority",
        Policy(),
        (held("x", 0, team="a"), job("w", 9, team="b")),
        1,
        [],
        [("x", "w")],
    ),
    (
        "several borrowed attempts do not all go if that cuts into the guarantee",
        A2,
        (*(held(f"x{i}", 0, team="a") for i in range(3)), job("w", 9, team="b", count=2)),
        3,
        [],
        [],
    ),
    (
        "within a team higher priority preempts also inside the guarantee",
        A2,
        (held("x", 0, team="a", count=2), job("w", 9, team="a", count=2)),
        2,
        [],
        [("x", "w")],
    ),
    (
        "a job within its guarantee comes before borrowers of higher priority",
        A2,
        (job("v", 9, team="b"), job("w", 0, team="a")),
        1,
        ["w"],
        [],
    ),
    ("a team does not pass its limit", LIMIT, (held("x", team="a", count=2), job("w", team="a")), 4, [], []),
    (
        "a team at its limit holds up nobody else",
        LIMIT,
        (held("x", 9, team="a", count=2), job("w", 9, team="a"), job("v", team="b", count=2)),
        4,
        ["v"],
        [],
    ),
    (
        "at its limit a team preempts its own",
        LIMIT,
        (held("x", 0, team="a"), held("y", 0, team="b"), held("z", 5, team="a"), job("w", 9, team="a")),
        4,
        [],
        [("x", "w")],
    ),
    (
        "what is reserved for a team counts towards its limit",
        LIMIT,
        (held("x", 9, team="a"), reserved("w"), job("w", 9, team="a"), job("v", 9, team="a", entered=5)),
        4,
        ["w"],
        [],
    ),
    (
        "among equals the team that uses least goes first",
        HEAVY,
        (held("x", team="a", count=1), job("v", team="a"), job("w", team="b", entered=9)),
        2,
        ["w"],
        [],
    ),
    (
        "use is divided by the weight",
        HEAVY,
        (held("x", team="a"), held("y", team="b"), job("v", team="a", entered=9), job("w", team="b")),
        3,
        ["v"],
        [],
    ),
    (
        "teams take turns",
        HEAVY,
        (*(job(f"v{i}", team="a", entered=i) for i in range(4)), *(job(f"w{i}", team="b") for i in range(4))),
        3,
        ["v0", "w0", "v1"],
        [],
    ),
    (
        "priority goes before fairness",
        HEAVY,
        (held("x", team="a"), job("v", 1, team="a", entered=9), job("w", 0, team="b")),
        2,
        ["v"],
        [],
    ),
]


@pytest.mark.parametrize(
    ("policy", "parts", "size", "started", "preempted"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_the_instances_that_teams_get(
    policy: Policy, parts: Parts, size: int, started: list[str], preempted: list[tuple[str, str]]
) -> None:
    snap = snapshot(*parts, size=size, policy=policy)
    plan = schedule(snap)
    check_plan(snap, plan)
    assert (starts(plan), preemptions(plan)) == (started, preempted)


def test_the_reason_of_a_reclaimed_attempt_says_that_it_borrowed() -> None:
    parts = (held("x", 9, team="b"), job("w", 0, team="a"))
    (preemption,) = schedule(snapshot(*parts, size=1, policy=A2)).actions
    assert preemption.reason.code == "Reclaimed"
    assert "for what team `a` is guaranteed and team `b` has borrowed" in preemption.reason.message


def test_a_job_held_by_its_teams_limit_says_so() -> None:
    plan = schedule(snapshot(held("x", team="a", count=2, ends_in_s=60), job("w", team="a"), size=4, policy=LIMIT))
    assert reason_of(plan, "w") == (
        "waits for 1 ml.p5.48xlarge within the limit of team `a`, which may use 2 ml.p5.48xlarge, held by "
        "`x` (priority 0, until 00:17 UTC at the latest)"
    )


def test_a_job_above_its_teams_limit_has_the_necessary_change() -> None:
    plan = schedule(snapshot(job("w", team="a", count=3), job("v", team="a"), size=4, policy=LIMIT))
    assert code_of(plan, "w") == "ExceedsTeamLimit"
    assert starts(plan) == ["v"]


def test_the_priority_of_a_team_has_a_maximum() -> None:
    policy = Policy(teams={"a": Team(max_priority=3), "b": Team()})
    assert starts(schedule(snapshot(job("v", 9, team="a"), job("w", 4, team="b"), size=1, policy=policy))) == ["w"]
    assert preemptions(schedule(snapshot(held("x", 3), job("v", 9, team="a"), size=1, policy=policy))) == []


AGEING = Policy(ageing=Ageing(interval_ms=100_000, cap=3))


def test_a_job_gains_priority_as_it_waits() -> None:
    old, new = job("old", 0, entered=NOW_MS - 200_000), job("new", 1, entered=NOW_MS)
    assert starts(schedule(snapshot(old, new, size=1, policy=AGEING))) == ["old"]
    assert starts(schedule(snapshot(old, new, size=1))) == ["new"]


def test_ageing_ends_at_its_cap() -> None:
    old, new = job("old", 0, entered=0), job("new", 4, entered=NOW_MS)
    assert starts(schedule(snapshot(old, new, size=1, policy=AGEING))) == ["new"]


def test_priority_gained_by_ageing_preempts_no_job_and_protects_running_ones() -> None:
    old = job("old", 0, entered=0)
    assert preemptions(schedule(snapshot(held("x", 1, entered=0), old, size=1, policy=AGEING))) == []
    aged = held("x", 0, since=300_000, entered=0)
    assert preemptions(schedule(snapshot(aged, job("w", 3), size=1, policy=AGEING))) == []
    assert preemptions(schedule(snapshot(aged, job("w", 4), size=1, policy=AGEING))) == [("x", "w")]


PROTECTED: list[tuple[str, Policy, Allocation, str]] = [
    ("a job that is not preemptible", Policy(), held("x", preemptible=False), "not preemptible"),
    (
        "a job within its minimum run time",
        Policy(min_run_time_ms=1_000_000),
        held("x", since=NOW_MS - 400_000),
        "within its minimum run time until 00:26 UTC",
    ),
    (
        "a job that has been preempted often enough",
        Policy(max_preemptions=2),
        held("x", preemptions=2),
        "preempted 2 times already",
    ),
    (
        "a job that has been preempted often enough in a week",
        Policy(max_preemptions=2),
        changed(held("x", preemptions=2, checkpoints=True), left_ms=1, entry_time_ms=NOW_MS),
        "preempted 2 times already, and not again before 1970-01-08 00:16 UTC",
    ),
    ("any job when preemption is off", Policy(preemption=False), held("x"), "preemption is off"),
]


@pytest.mark.parametrize(
    ("policy", "holder", "told"), [row[1:] for row in PROTECTED], ids=[row[0] for row in PROTECTED]
)
def test_attempts_that_are_not_preempted(policy: Policy, holder: Allocation, told: str) -> None:
    plan = schedule(snapshot(holder, job("w", 9), size=1, policy=policy))
    assert preemptions(plan) == []
    assert told in reason_of(plan, "w")


def test_an_attempt_may_be_preempted_after_the_minimum_run_time() -> None:
    policy = Policy(min_run_time_ms=100)
    parts = (held("x", since=NOW_MS - 100), job("w", 9))
    assert preemptions(schedule(snapshot(*parts, size=1, policy=policy))) == [("x", "w")]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Team(weight=0),
        lambda: Ageing(interval_ms=0, cap=1),
        lambda: Ageing(interval_ms=1, cap=-1),
        lambda: Policy(reserved_heads=0),
        lambda: Policy(backfill_window=-1),
        lambda: Policy(min_run_time_ms=-1),
        lambda: Policy(wait_bound=0),
        lambda: Policy(wait_bound=1001),
    ],
)
def test_a_policy_with_an_invalid_value_is_refused(wrong) -> None:
    with pytest.raises(InvalidPolicy):
        wrong()
