"""What one decision does and says where several jobs wait for the same instances."""

from __future__ import annotations

import pytest

from headway.policy import Ageing, Policy, Team
from headway.reasons import ReasonCode
from headway.schedule import schedule
from tests.core.builders import (
    G5,
    NOW_MS,
    P5,
    held,
    job,
    preemptions,
    reason_of,
    releases,
    reserved,
    snapshot,
    starts,
)


def test_behind_a_job_that_has_aged_another_one_may_still_preempt() -> None:
    policy = Policy(ageing=Ageing(interval_ms=1000, cap=9))
    running = (held("x", 5, since=NOW_MS), held("y", 5, pool=G5, since=NOW_MS))
    line = (job("old", 0, entered=NOW_MS - 9000), job("urgent", 8, pool=G5, entered=NOW_MS))
    plan = schedule(snapshot(*running, *line, pools={P5: 1, G5: 1}, policy=policy), explain=False)
    assert preemptions(plan) == [("y", "urgent")]


def test_a_job_that_fits_but_would_delay_the_first_one_is_told_when_it_starts_itself() -> None:
    parts = (
        held("x", 9, count=2, ends_in_s=600),
        job("wide", 5, count=3, limit_s=1000),
        job("mid", 4, count=2, limit_s=5000),
    )
    plan = schedule(snapshot(*parts, size=4, policy=Policy(reserved_heads=2)))
    assert [(hold.job, hold.start_by_ms) for hold in plan.holds] == [
        ("wide", NOW_MS + 600_000),
        ("mid", NOW_MS + 1_600_000),
    ]


@pytest.mark.parametrize(
    ("priority", "code"), [(0, ReasonCode.PREEMPTED), (5, ReasonCode.RECLAIMED), (9, ReasonCode.RECLAIMED)]
)
def test_a_job_reclaims_only_from_attempts_that_its_priority_could_not_preempt(priority: int, code: ReasonCode) -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1})})
    plan = schedule(snapshot(held("x", priority, team="b"), job("w", 5, team="a"), size=1, policy=policy))
    assert preemptions(plan) == [("x", "w")]
    assert [action.reason.code for action in plan.actions] == [code]


def test_a_job_waits_for_its_victims_and_for_what_stops_anyway() -> None:
    parts = (held("x"), held("y", stopping=True), held("other", pool=G5, stopping=True), job("w", 5, count=2))
    plan = schedule(snapshot(*parts, pools={P5: 2, G5: 1}))
    assert preemptions(plan) == [("x", "w")]
    assert reason_of(plan, "w") == f"starts on 2 {P5} as soon as `x`, `y` have stopped"


def test_a_job_that_gets_all_it_lacks_from_its_victims_waits_for_nobody_else() -> None:
    plan = schedule(snapshot(held("x"), held("y", stopping=True), job("first", 9), job("second", 8), size=2))
    assert preemptions(plan) == [("x", "second")]
    assert [reason_of(plan, name).partition(";")[0] for name in ("first", "second")] == [
        f"starts on 1 {P5} as soon as `y` has stopped",
        f"starts on 1 {P5} as soon as `x` has stopped",
    ]


def test_a_job_that_finds_too_few_victims_waits_behind_the_first_job_that_found_too_few() -> None:
    plan = schedule(snapshot(held("x"), held("y", 9), job("wide", 5, count=2), job("next", 4, count=2)))
    assert [(hold.job, hold.reason.code) for hold in plan.holds] == [
        ("wide", ReasonCode.WAITS_FOR_CAPACITY),
        ("next", ReasonCode.WAITS_BEHIND),
    ]


def test_a_job_counts_on_the_end_of_one_that_starts_in_the_same_decision() -> None:
    plan = schedule(snapshot(job("short", 9, limit_s=60), job("next", 5, limit_s=60), size=1))
    assert starts(plan) == ["short"]
    assert [(hold.job, hold.start_by_ms) for hold in plan.holds] == [("next", NOW_MS + 60_000)]


def test_a_job_that_ends_before_a_reserved_start_takes_nothing_of_what_is_left_then() -> None:
    parts = (held("x", 9, count=2, ends_in_s=600), job("wide", 5, count=3), job("short", 4, limit_s=60), job("long", 3))
    assert starts(schedule(snapshot(*parts, size=4))) == ["short", "long"]


def test_the_lowest_reservation_is_taken_over_first() -> None:
    owners = (reserved("high"), reserved("low"), job("high", 5, count=2), job("low", 3, count=2))
    plan = schedule(snapshot(held("x", 9), *owners, job("urgent", 9), size=3))
    assert (releases(plan), starts(plan)) == (["low"], ["urgent"])


def test_a_job_that_fits_no_pool_is_ahead_of_nobody() -> None:
    plan = schedule(snapshot(held("x", 9), job("giant", 5, count=7), job("next", 3), size=1))
    assert [(hold.job, hold.ahead) for hold in plan.holds] == [("giant", 0), ("next", 0)]


def test_a_job_over_its_team_s_limit_is_told_so_however_far_back_it_stands() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 1})})
    line = (job("head", 5, team="b", count=2), job("over", 4, team="a", count=2), job("next", 3, team="b", count=2))
    plan = schedule(snapshot(held("x", 9, team="b"), *line, policy=policy))
    assert [(hold.job, hold.reason.code, hold.ahead) for hold in plan.holds] == [
        ("head", ReasonCode.WAITS_FOR_CAPACITY, 0),
        ("over", ReasonCode.EXCEEDS_LIMIT, 1),
        ("next", ReasonCode.WAITS_BEHIND, 1),
    ]


def test_a_job_that_lacks_instances_waits_behind_the_first_one_though_its_team_is_at_its_limit() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 4})})
    line = (job("head", 5, team="b", count=4), job("also", 4, team="a", count=3))
    plan = schedule(snapshot(held("x", 9, team="a", count=2), *line, size=4, policy=policy))
    assert [(hold.job, hold.reason.code) for hold in plan.holds] == [
        ("head", ReasonCode.WAITS_FOR_CAPACITY),
        ("also", ReasonCode.WAITS_BEHIND),
    ]
