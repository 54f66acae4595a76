"""Jobs that may overtake a blocked job: only those that cannot delay its reserved start."""

from __future__ import annotations

import pytest

from headway.model import Allocation, Reservation, WaitingJob
from headway.policy import Policy
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, reason_of, reserved, snapshot, starts

Parts = tuple[WaitingJob | Allocation | Reservation, ...]

ENDS_SOON = held("x", 9, ends_in_s=3600)
HEAD = job("head", 9, count=2)
WIDE = (held("x", 9, count=2, ends_in_s=3600), job("head", 9, count=3))

BACKFILL: list[tuple[str, Parts, int, list[str]]] = [
    ("a job that ends before the head starts fills the gap", (ENDS_SOON, HEAD, job("b", limit_s=3600)), 2, ["b"]),
    ("a job that would end a second too late waits", (ENDS_SOON, HEAD, job("b", limit_s=3601)), 2, []),
    ("a job without a limit waits", (ENDS_SOON, HEAD, job("b")), 2, []),
    ("a job without a limit starts on what the head leaves", (*WIDE, job("b")), 4, ["b"]),
    ("what the head leaves is given once", (*WIDE, job("b"), job("c")), 4, ["b"]),
    (
        "a short job may use it as well",
        (*WIDE, job("b"), job("c", limit_s=60)),
        4,
        ["b", "c"],
    ),
    (
        "nothing may start on what a head lacks that waits for jobs without a limit",
        (held("x", 9), HEAD, job("b", limit_s=60)),
        2,
        [],
    ),
    (
        "a job past its limit may end at any moment",
        (held("x", 9, ends_in_s=-60), HEAD, job("b", limit_s=60)),
        2,
        [],
    ),
    (
        "a stopping attempt may end at any moment",
        (held("x", 9, ends_in_s=3600, stopping=True), HEAD, job("b", limit_s=60)),
        2,
        [],
    ),
    (
        "the head starts when the last of those it waits for ends",
        (ENDS_SOON, held("y", 9, ends_in_s=7200), job("head", 9, count=3), job("b", limit_s=7200)),
        3,
        ["b"],
    ),
    (
        "another pool is not touched by a blocked head",
        (ENDS_SOON, HEAD, job("b", pool=G5)),
        2,
        ["b"],
    ),
    (
        "a head in two pools keeps both",
        (ENDS_SOON, job("head", 9, count=2, ml_g5_xlarge=2), job("b", pool=G5), job("c", pool=G5, limit_s=3600)),
        2,
        ["c"],
    ),
    (
        "each combination of pools has a head of its own",
        (
            *(ENDS_SOON, HEAD, held("y", 9, pool=G5, ends_in_s=1800), job("a", pool=G5, count=2)),
            *(job("b", pool=G5, limit_s=1801), job("c", pool=G5, limit_s=1800)),
        ),
        2,
        ["c"],
    ),
    ("a reservation starts its owner past the head", (*WIDE, job("a"), job("b"), reserved("b")), 4, ["b"]),
]


@pytest.mark.parametrize(("parts", "size", "expected"), [row[1:] for row in BACKFILL], ids=[row[0] for row in BACKFILL])
def test_jobs_that_start_past_a_blocked_job(parts: Parts, size: int, expected: list[str]) -> None:
    snap = snapshot(*parts, pools={P5: size, G5: 2})
    plan = schedule(snap)
    check_plan(snap, plan)
    assert starts(plan) == expected


def test_without_backfill_a_blocked_head_closes_its_pool() -> None:
    snap = snapshot(ENDS_SOON, HEAD, job("b", limit_s=1), size=9, policy=Policy(backfill=False))
    assert starts(schedule(snap)) == ["head", "b"]
    snap = snapshot(ENDS_SOON, HEAD, job("b", limit_s=1), size=2, policy=Policy(backfill=False))
    assert starts(schedule(snap)) == []


def test_the_second_head_is_protected_when_two_starts_are_reserved() -> None:
    """With the first alone reserved, b may delay the second; with both, it may not."""
    parts = (
        held("x", 9, count=3, ends_in_s=3600),
        job("first", 9, count=3, limit_s=3600),
        job("second", 8, count=4, limit_s=3600),
        job("b"),
    )
    one, two = (schedule(snapshot(*parts, size=4, policy=Policy(reserved_heads=n))) for n in (1, 2))
    assert starts(one) == ["b"]
    assert starts(two) == []
    assert [hold.start_by_ms for hold in two.waits[:2]] == [NOW_MS + 3_600_000, NOW_MS + 7_200_000]


def test_a_blocked_job_counts_on_attempts_that_it_may_preempt_after_others_have_ended() -> None:
    """At the end of x the first job preempts y, so b must not run into that."""
    parts = (held("x", 9, ends_in_s=3600), held("y", 1), job("head", 9, count=2), job("b", 9, entered=5))
    plan = schedule(snapshot(*parts, size=2))
    assert starts(plan) == []
    assert plan.waits[0].start_by_ms == NOW_MS + 3_600_000


def test_a_job_behind_the_head_preempts_only_if_that_does_not_delay_the_head() -> None:
    parts = (held("x", 9, ends_in_s=3600), held("y", 1), job("head", 9, count=2), job("b", 5))
    assert preemptions(schedule(snapshot(*parts, size=2))) == []
    assert preemptions(schedule(snapshot(*parts, held("z", 0), size=3))) == [("z", "head"), ("y", "head")]


def test_the_backfill_window_bounds_the_jobs_that_are_evaluated() -> None:
    wide = (job(f"b{i}", count=2, entered=i) for i in range(5))
    parts: Parts = (ENDS_SOON, HEAD, *wide, job("c", entered=9, limit_s=60))
    plan = schedule(snapshot(*parts, size=2, policy=Policy(backfill_window=3)))
    assert (len(plan.waits), plan.unseen, starts(plan)) == (4, 3, [])
    assert starts(schedule(snapshot(*parts, size=2))) == ["c"]


def test_a_blocked_job_names_the_holders_of_its_instances_and_its_latest_start() -> None:
    plan = schedule(snapshot(ENDS_SOON, HEAD, job("b", limit_s=7200), job("c", count=2), size=2))
    assert reason_of(plan, "head") == (
        "needs 1 more ml.p5.48xlarge, held by `x` (priority 9, until 01:16 UTC at the latest); "
        "starts by 01:16 UTC unless a job of higher rank comes"
    )
    assert reason_of(plan, "b") == (
        "would delay `head` (priority 9), which can start at 01:16 UTC; "
        "with a limit (MaxRuntimeInSeconds) of 3600 s or less it could start now; 1 waiting job ahead"
    )
    assert reason_of(plan, "c") == (
        "waits for ml.p5.48xlarge behind `head` (priority 9), which can start by 01:16 UTC; 2 waiting jobs ahead"
    )


def test_a_job_blocked_by_endless_jobs_has_a_reason_that_says_so() -> None:
    plan = schedule(snapshot(held("x", 9), HEAD, job("b", limit_s=60), size=2))
    assert reason_of(plan, "b") == (
        "waits behind `head` (priority 9), which waits for jobs without a time limit, "
        "so what it needs is kept for it; 1 waiting job ahead"
    )
