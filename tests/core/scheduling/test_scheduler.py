"""Starts, preemptions, and reasons of waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import Allocation, Reservation, WaitingJob
from headway.plan import Preempt
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import (
    G5,
    NOW_MS,
    P5,
    code_of,
    held,
    job,
    preemptions,
    reason_of,
    releases,
    reserved,
    snapshot,
    starts,
)

Parts = tuple[WaitingJob | Allocation | Reservation, ...]

STARTS: list[tuple[str, Parts, int, list[str]]] = [
    ("nothing waits, nothing starts", (), 2, []),
    ("a job that fits starts", (job("a"),), 2, ["a"]),
    ("as many start as fit, in rank order", (job("c"), job("b"), job("a")), 2, ["a", "b"]),
    ("higher priority goes first", (job("a", 1), job("b", 2)), 1, ["b"]),
    ("among equals who entered first goes first", (job("a", entered=2), job("b", entered=1)), 1, ["b"]),
    ("with the same entry time the name decides", (job("b"), job("a")), 1, ["a"]),
    ("priority 0 counts and is the lowest", (job("a", 0), job("b", 1)), 1, ["b"]),
    ("a job starts on all that it demands or not at all", (held("x", 9), job("a", count=2)), 2, []),
    ("nobody overtakes a blocked head", (held("x", 9), job("a", 5, count=2), job("b", 1)), 2, []),
    (
        "jobs behind a blocked head wait even if they entered first",
        (held("x", 9), job("a", 5, entered=9, count=2), job("b", 1)),
        2,
        [],
    ),
    ("a job that demands more than the pool holds waits without blocking", (job("a", 9, count=3), job("b")), 2, ["b"]),
    ("a reservation is nothing to a job of lower rank", (reserved("b"), job("a", 1), job("b", 2)), 1, ["b"]),
    ("a job of higher rank takes a reservation over", (reserved("b"), job("a", 9), job("b")), 1, ["a"]),
    (
        "a job of higher rank takes a reservation over only if it can start with it",
        (held("x", 9), reserved("b"), job("a", 8, count=2), job("b")),
        2,
        ["b"],
    ),
    (
        "two jobs that each hold a part of what the other needs do not wait for ever",
        (reserved("a"), job("c", 9, count=2), job("a", 3, count=2)),
        2,
        ["c"],
    ),
    (
        "reservations beyond a pool that was shrunk do not wait for ever",
        (reserved("a", 2), reserved("b"), job("a", 3, count=2), job("b", 2)),
        2,
        ["a"],
    ),
    ("a reservation and a free instance add up", (held("x", 9), reserved("a"), job("a", count=2)), 3, ["a"]),
    ("what a reservation holds beyond the demand is free again", (reserved("a", 2), job("a"), job("b")), 2, ["a", "b"]),
    ("an instance that is being freed starts nobody", (held("x", stopping=True), job("a")), 1, []),
    ("a pool shrunk below its use starts nobody", (held("x", 9, count=2), job("a", 5)), 1, []),
]


@pytest.mark.parametrize(("parts", "size", "expected"), [row[1:] for row in STARTS], ids=[row[0] for row in STARTS])
def test_the_jobs_that_start(parts: Parts, size: int, expected: list[str]) -> None:
    snap = snapshot(*parts, size=size)
    plan = schedule(snap)
    check_plan(snap, plan)
    assert starts(plan) == expected


PREEMPTIONS: list[tuple[str, Parts, int, list[tuple[str, str]]]] = [
    ("a job of lower priority gives way", (held("x", 1), job("a", 2)), 1, [("x", "a")]),
    ("a job of equal priority does not", (held("x", 2), job("a", 2)), 1, []),
    ("a job of higher priority does not", (held("x", 3), job("a", 2)), 1, []),
    ("nobody gives way while there is room", (held("x", 1), job("a", 2)), 2, []),
    ("the lowest priority gives way first", (held("x", 2), held("y", 1), job("a", 3)), 2, [("y", "a")]),
    (
        "among equals the one that loses least work",
        (held("x", 1, since=0), held("y", 1, since=900_000), job("a", 3)),
        2,
        [("y", "a")],
    ),
    (
        "a job that writes checkpoints loses what it ran since the last",
        (held("x", 1, since=0, checkpoints=True), held("y", 1, since=300_000), job("a", 3)),
        2,
        [("x", "a")],
    ),
    (
        "among jobs that lose as much the one that started last",
        (held("x", 1, since=1, checkpoints=True), held("y", 1, since=2, checkpoints=True), job("a", 3)),
        2,
        [("y", "a")],
    ),
    ("then the name decides", (held("y", 1), held("x", 1), job("a", 3)), 2, [("x", "a")]),
    ("nobody gives way for a job that would not fit", (held("x", 1), held("y", 9), job("a", 5, count=2)), 2, []),
    ("several give way together", (held("x", 1), held("y", 2), job("a", 5, count=2)), 2, [("x", "a"), ("y", "a")]),
    (
        "a victim made needless by a larger one is given back",
        (held("x", 1), held("y", 2, count=2), job("a", 5, count=2)),
        3,
        [("y", "a")],
    ),
    ("a free instance saves a victim", (held("x", 1), held("y", 2), job("a", 5, count=2)), 3, [("x", "a")]),
    (
        "who waits for a stopping job preempts nobody more",
        (held("x", 1, freed_for="a"), held("y", 1), job("a", 5)),
        2,
        [],
    ),
    (
        "a job stopping for another reason saves a victim",
        (held("x", 1, stopping=True), held("y", 1), job("a", 5)),
        2,
        [],
    ),
    (
        "what is being freed for one job serves no other",
        (held("x", 1, freed_for="a"), held("y", 1), job("a", 5), job("b", 4)),
        2,
        [("y", "b")],
    ),
    (
        "what is being freed for a job that has left saves a victim",
        (held("x", 1, freed_for="gone"), held("y", 0), job("a", 5)),
        2,
        [],
    ),
    (
        "what a victim frees beyond the need serves the next in line",
        (held("x", 1, count=2), job("a", 5), job("b", 4)),
        2,
        [("x", "a")],
    ),
    (
        "a reservation of lower rank saves a victim",
        (held("x", 1), held("y", 5), reserved("b"), job("a", 5, count=2), job("b", 2)),
        3,
        [("x", "a")],
    ),
    (
        "in a pool shrunk below its use the excess gives way too",
        (held("x", 1), held("y", 1), job("a", 5)),
        1,
        [("x", "a"), ("y", "a")],
    ),
]


@pytest.mark.parametrize(
    ("parts", "size", "expected"), [row[1:] for row in PREEMPTIONS], ids=[row[0] for row in PREEMPTIONS]
)
def test_the_attempts_that_are_preempted(parts: Parts, size: int, expected: list[tuple[str, str]]) -> None:
    snap = snapshot(*parts, size=size)
    plan = schedule(snap)
    check_plan(snap, plan)
    assert preemptions(plan) == expected


def test_a_victim_is_earmarked_for_no_more_than_its_preemptor_needs() -> None:
    plan = schedule(snapshot(held("x", 1, count=8), job("a", 5, count=3), size=8))
    (preemption,) = plan.actions
    assert isinstance(preemption, Preempt)
    assert preemption.freed == {P5: 3}


def test_excess_of_a_shrunk_pool_is_not_earmarked() -> None:
    plan = schedule(snapshot(held("x", 1), held("y", 1), job("a", 5), size=1))
    earmarked = [action.freed for action in plan.actions if isinstance(action, Preempt)]
    assert earmarked == [{P5: 1}, {}]


def test_a_shrunk_pool_does_not_start_even_a_job_with_a_reservation() -> None:
    snap = snapshot(held("x", 9, count=2), reserved("a"), job("a", 5), size=2)
    assert starts(schedule(snap)) == []


def test_a_blocked_head_closes_only_the_pools_it_demands() -> None:
    snap = snapshot(held("x", 9), job("a", 5), job("b", 1, pool=G5), pools={P5: 1, G5: 1})
    assert starts(schedule(snap)) == ["b"]


def test_a_demand_over_two_pools_is_all_or_nothing() -> None:
    both = job("a", 5, pool=P5, ml_c5_large=2)
    assert starts(schedule(snapshot(both, pools={P5: 1, "ml.c5.large": 1}))) == []
    assert starts(schedule(snapshot(both, pools={P5: 1, "ml.c5.large": 2}))) == ["a"]


def test_a_reservation_whose_job_left_the_queue_is_released_and_used_at_once() -> None:
    plan = schedule(snapshot(reserved("gone"), job("a"), size=1))
    assert releases(plan) == ["gone"]
    assert starts(plan) == ["a"]


def test_a_reservation_whose_job_no_longer_fits_is_released() -> None:
    plan = schedule(snapshot(reserved("a"), job("a", count=2), size=1))
    assert releases(plan) == ["a"]


def test_a_job_that_backs_off_keeps_its_place_and_its_instances() -> None:
    waits = replace(job("a", 5, count=2), not_before_ms=NOW_MS + 1500)
    plan = schedule(snapshot(waits, job("b", 1), size=2))
    assert starts(plan) == []
    assert code_of(plan, "a") == "BacksOff"
    assert "next try in 2 s" in reason_of(plan, "a")
    assert code_of(plan, "b") == "WouldDelay"


def test_a_job_starts_when_its_back_off_is_over() -> None:
    assert starts(schedule(snapshot(replace(job("a"), not_before_ms=NOW_MS)))) == ["a"]


REASONS: list[tuple[str, Parts, dict[str, int], str]] = [
    (
        "a head says what it lacks and who holds it",
        (held("x", 9), held("y", 7), job("a", 5)),
        {P5: 2},
        (
            "needs 1 more ml.p5.48xlarge, held by `x` (priority 9, without a time limit) "
            "and `y` (priority 7, without a time limit)"
        ),
    ),
    (
        "a head says when preempting would not be enough",
        (held("x", 9), held("y", 1), job("a", 5, count=2)),
        {P5: 2},
        (
            "needs 2 more ml.p5.48xlarge, held by `x` (priority 9, without a time limit) "
            "and `y` (priority 1, without a time limit); stopping those of lower priority would not free enough"
        ),
    ),
    (
        "a preemptor says whom it waits for",
        (held("x", 1), job("a", 5)),
        {P5: 1},
        "starts on 1 ml.p5.48xlarge as soon as `x` has stopped",
    ),
    (
        "a job behind another says behind whom",
        (held("x", 9), job("b", 5, count=1), job("a", 1)),
        {P5: 1},
        "waits for ml.p5.48xlarge behind `b` (priority 5); 1 waiting job ahead",
    ),
    (
        "a job too large for its pool says what to do",
        (job("a", count=3),),
        {P5: 2},
        (
            "demands 3 ml.p5.48xlarge but the pools hold 2 ml.p5.48xlarge; enlarge the pool "
            "(`headway config set`) or stop the job and submit a smaller one"
        ),
    ),
    (
        "a job whose pool is gone says which pools there are",
        (job("a"),),
        {G5: 2},
        (
            "there is no pool ml.p5.48xlarge any more; known pools: ml.g5.xlarge. "
            "Add the pool (`headway config set`) or stop the job"
        ),
    ),
]


@pytest.mark.parametrize(("parts", "pools", "expected"), [row[1:] for row in REASONS], ids=[row[0] for row in REASONS])
def test_why_a_job_waits(parts: Parts, pools: dict[str, int], expected: str) -> None:
    assert reason_of(schedule(snapshot(*parts, pools=pools)), "a") == expected


def test_a_job_further_back_says_how_many_are_ahead() -> None:
    plan = schedule(snapshot(held("x", 9), job("a", 3), job("b", 2), job("c", 1), size=1))
    assert reason_of(plan, "c") == "waits for ml.p5.48xlarge behind `a` (priority 3); 2 waiting jobs ahead"


def test_a_victims_reason_names_its_preemptor() -> None:
    (preemption,) = schedule(snapshot(held("x", 1), job("a", 5), size=1)).actions
    assert preemption.reason.jobs == ("a",)
    assert "`a` (priority 5)" in preemption.reason.message


def test_instances_being_freed_for_a_job_that_starts_anyway_go_to_the_next_one() -> None:
    parts = (held("x", freed_for="w"), held("y", 0), job("w", 5), job("v", 4))
    plan = schedule(snapshot(*parts, size=3))
    assert starts(plan) == ["w"]
    assert preemptions(plan) == []
    assert reason_of(plan, "v") == "starts on 1 ml.p5.48xlarge as soon as `x` has stopped"


def test_the_most_expensive_needless_victim_is_spared_first() -> None:
    """Either of `cheap` and `dear` is unneeded beside `wide`, but not both."""
    running = (held("cheap", 0), held("dear", 1), held("wide", 2, count=3))
    plan = schedule(snapshot(*running, job("w", 9, count=4), size=5))
    assert preemptions(plan) == [("cheap", "w"), ("wide", "w")]
