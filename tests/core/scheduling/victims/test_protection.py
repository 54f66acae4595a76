"""Whether a running attempt may be stopped for a waiting job, as far as its time, its rank and its team go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import PREEMPTIONS_WITHIN_MS, WaitingJob
from headway.policy import Ageing, Policy, Team
from headway.protected import Protected
from headway.scheduling.victims.protection import not_outranked, outranks, protected_until_ms, protection
from tests.core.builders import NOW_MS, P5, changed, held, job


@pytest.mark.parametrize(
    ("minimum_ms", "since_ms", "until_ms"), [(0, NOW_MS + 5, 0), (7, NOW_MS, NOW_MS + 7), (1, 0, 1)]
)
def test_an_attempt_is_protected_for_the_minimum_run_time_and_never_without_one(
    minimum_ms: int, since_ms: int, until_ms: int
) -> None:
    assert protected_until_ms(held("x", since=since_ms), Policy(min_run_time_ms=minimum_ms)) == until_ms


NO_TEAMS = Policy(ageing=Ageing(interval_ms=1000, cap=9))
TEAMS = Policy(ageing=Ageing(interval_ms=1000, cap=9), teams={"a": Team()})


@pytest.mark.parametrize(
    ("policy", "ran_ms", "preempts"),
    [
        # Their priorities are equal again, and the attempt's job entered first.
        (NO_TEAMS, 1000, False),
        (TEAMS, 1000, True),
        (NO_TEAMS, 2000, False),
        (TEAMS, 2000, False),
        (NO_TEAMS, 999, True),
        (TEAMS, 999, True),
    ],
)
def test_an_attempt_may_be_preempted_unless_its_job_would_rank_first_again(
    policy: Policy, ran_ms: int, *, preempts: bool
) -> None:
    attempt = held("x", 1, since=NOW_MS - ran_ms, entered=NOW_MS - ran_ms)
    waiting = job("w", 2, entered=NOW_MS)
    assert outranks(waiting, attempt, {}, NOW_MS, policy, reclaims=False) is preempts


@pytest.mark.parametrize("priority", [5, 4])
def test_priority_gained_by_ageing_preempts_no_job(priority: int) -> None:
    attempt = held("x", 5, since=NOW_MS, entered=NOW_MS)
    waiting = job("w", priority, entered=NOW_MS - 9000)
    assert not outranks(waiting, attempt, {}, NOW_MS, NO_TEAMS, reclaims=True)


def test_what_is_unused_is_protected_by_nothing() -> None:
    lacking = changed(held("x", since=NOW_MS), preemptible=False, lacks_instances=True)
    assert protection(lacking, Policy(preemption=False, min_run_time_ms=7)) == (0, None)


IN_GAP = replace(changed(held("x", 5, entered=1000), handicap_ms=500), opportunistic=True)
"""An attempt in a gap, whose turn is at 1500."""


@pytest.mark.parametrize(
    ("waiting", "policy", "before", "within"),
    [
        (job("w", 5, entered=1499), Policy(), None, None),
        (job("w", 5, entered=1501), Policy(), Protected.WOULD_RANK_BEFORE, None),
        (job("a", 5, entered=1500), Policy(), None, None),
        (job("y", 5, entered=1500), Policy(), Protected.WOULD_RANK_BEFORE, None),
        (job("w", 6, entered=1501), Policy(), None, None),
        (job("w", 4, entered=0), Policy(), Protected.WOULD_RANK_BEFORE, None),
        # By age it has gained as much as the attempt, or less.
        (job("w", 5, entered=1499), NO_TEAMS, None, None),
        (job("w", 6, entered=NOW_MS), NO_TEAMS, Protected.WOULD_RANK_BEFORE, None),
        # Among teams what is freed for a job is its own.
        (job("w", 5, entered=1501), Policy(teams={"a": Team()}), None, None),
        (job("w", 4, entered=0), Policy(teams={"a": Team()}), Protected.WOULD_RANK_BEFORE, None),
    ],
)
def test_an_opportunistic_attempt_gives_way_to_jobs_that_rank_before_its_own_and_in_a_gap_to_every_job(
    waiting: WaitingJob, policy: Policy, before: Protected | None, within: Protected | None
) -> None:
    for in_gap, why in ((False, before), (True, within)):
        assert not_outranked(waiting, IN_GAP, {}, NOW_MS, policy, reclaims=False, in_gap=in_gap) is why


def test_it_keeps_the_turn_that_it_had_when_it_started() -> None:
    """What it has done since then brings its job before no other one."""
    half_done = changed(IN_GAP, left_ms=2 * NOW_MS, handicap_ms=500, checkpoints=True)
    assert outranks(job("w", 5, entered=1499), half_done, {}, NOW_MS, Policy(), reclaims=False)


def test_in_a_gap_it_keeps_what_its_team_is_guaranteed() -> None:
    policy = Policy(teams={"a": Team(), "b": Team(guaranteed={P5: 1})})
    mine, theirs = changed(IN_GAP, team="b"), job("w", 9, team="a")
    for held_beside, why in ((0, Protected.GUARANTEED), (1, None)):
        use = {"b": {P5: held_beside}}
        assert not_outranked(theirs, mine, use, NOW_MS, policy, reclaims=False, in_gap=True) is why


@pytest.mark.parametrize(
    ("own", "preempted", "may_be"),
    [(None, 2, True), (None, 3, False), (2, 1, True), (2, 2, False), (9, 2, True), (9, 3, False), (0, 0, False)],
)
def test_a_request_may_allow_fewer_preemptions_than_the_policy(
    own: int | None, preempted: int, *, may_be: bool
) -> None:
    attempt = changed(held("x", preemptions=preempted), max_preemptions=own)
    expected = (0, Protected.CAPPED) if may_be else (None, Protected.CAPPED)
    assert protection(attempt, Policy(max_preemptions=3)) == expected


def test_by_what_is_left_such_a_cap_counts_for_each_week_as_well() -> None:
    attempt = changed(held("x", preemptions=1, checkpoints=True), max_preemptions=1, left_ms=9)
    assert attempt.capped_until_ms(10) == PREEMPTIONS_WITHIN_MS
