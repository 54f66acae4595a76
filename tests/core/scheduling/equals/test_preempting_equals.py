"""Jobs that preempt equals in the order `shortest-remaining`: which do, which give way, and the promises about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.errors import InvariantViolation
from headway.model import Allocation, WaitingJob
from headway.plan import Preempt
from headway.policy import Ageing, Order, Policy, Team
from headway.reasons import ReasonCode
from headway.scheduling.equals.victims import TIMES_LESS, may_give_way
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.scheduling.victims.protection import protected_until_ms, yields_to_equal
from tests.core.builders import NOW_MS, P5, changed, held, job, preemptions, reserved, snapshot

BY_REMAINING = Policy(order=Order.SHORTEST_REMAINING)
HOUR = 3_600_000


def small(name: str = "small", hours: float = 1, priority: int = 0, **more: Any) -> WaitingJob:
    """A waiting job of which some hours are left, on one instance."""
    left_ms = int(hours * HOUR)
    waiting = job(name, priority, entered=NOW_MS, limit_s=left_ms // 1000)
    return changed(waiting, **{"left_ms": left_ms, "handicap_ms": 10 * left_ms, **more})


def large(name: str = "large", hours: float = 9, priority: int = 0, since: int = 0, **more: Any) -> Allocation:
    """An attempt of which some hours were left at its start, on one instance; its job writes checkpoints."""
    left_ms = int(hours * HOUR)
    running = held(name, priority, since=since, checkpoints=True)
    return changed(running, **{"entry_time_ms": 0, "left_ms": left_ms, "handicap_ms": 10 * left_ms, **more})


def decided(running: Allocation, waiting: WaitingJob, policy: Policy = BY_REMAINING) -> list[tuple[str, str]]:
    """The preemptions in a full pool."""
    return preemptions(schedule(snapshot(running, waiting, size=1, policy=policy)))


def test_a_job_preempts_an_equal_of_which_more_is_left_and_says_so() -> None:
    plan = schedule(snapshot(large(), small(), size=1, policy=BY_REMAINING))
    assert preemptions(plan) == [("large", "small")]
    (action,) = [each for each in plan.actions if isinstance(each, Preempt)]
    assert action.reason.code is ReasonCode.PREEMPTED
    assert "at most half as much is left of its limit times its instances" in action.reason.message


def test_a_job_that_counts_with_its_expected_run_time_says_so() -> None:
    policy = replace(BY_REMAINING, by_predictions=True)
    expected = small(hours=5, expected_ms=HOUR, extension_ms=HOUR, handicap_ms=10 * HOUR)
    plan = schedule(snapshot(large(), expected, size=1, policy=policy))
    assert preemptions(plan) == [("large", "small")]
    (action,) = [each for each in plan.actions if isinstance(each, Preempt)]
    assert "at most half as much is left of its expected run time times its instances" in action.reason.message


def test_an_attempt_gives_way_once_it_has_outlived_what_was_expected_of_it() -> None:
    policy = replace(BY_REMAINING, by_predictions=True)
    running = large(expected_ms=2 * HOUR, extension_ms=2 * HOUR, handicap_ms=20 * HOUR, since=NOW_MS - 2 * HOUR)
    waiting = small(entry_time_ms=0)
    # Then two more hours are expected of it: twice as many as of the waiting job.
    assert decided(running, waiting, policy) == [("large", "small")]
    assert decided(replace(running, since_ms=running.since_ms + 1), waiting, policy) == []


@pytest.mark.parametrize("hours", [1, 2, 5])
def test_at_most_half_as_much_is_left_of_the_preemptor(hours: int) -> None:
    since = NOW_MS - HOUR // 2
    enough = large(hours=TIMES_LESS * hours + 0.5, since=since)
    assert decided(enough, small(hours=hours)) == [("large", "small")]
    one_ms_less = replace(enough, since_ms=since - 1)
    assert decided(one_ms_less, small(hours=hours)) == []


UNEQUAL = {
    "it writes no checkpoints": (large(checkpoints=False), small()),
    "it is not preemptible": (large(preemptible=False), small()),
    "it was preempted often enough": (large(preemptions=10), small()),
    "it entered in another order": (large(left_ms=None), small()),
    "the preemptor entered in another order": (large(), small(left_ms=None)),
    "the preemptor preempts no job": (large(), small(preempts=False)),
    "it has a higher priority": (large(priority=1), small()),
    "it ends as soon as it would stop": (large(limit_ms=NOW_MS + 120_000), small()),
    # Its turn: 90 h after 0; that of the preemptor: 10 h after 80 h.
    "the turn of the preemptor comes later": (large(), small(entry_time_ms=80 * HOUR)),
}


@pytest.mark.parametrize("why", UNEQUAL)
def test_an_attempt_gives_way_to_no_equal_if(why: str) -> None:
    running, waiting = UNEQUAL[why]
    assert decided(running, waiting) == []


def test_a_job_gives_way_just_before_the_turn_of_the_other_comes() -> None:
    assert decided(large(since=NOW_MS), small(entry_time_ms=80 * HOUR - 1)) == [("large", "small")]


@pytest.mark.parametrize("policy", [Policy(), Policy(order=Order.SHORT)], ids=str)
def test_in_another_order_no_job_preempts_equals_also_if_it_entered_in_this_one(policy: Policy) -> None:
    assert decided(large(), small(), policy) == []


def test_a_switch_of_the_order_preempts_nothing() -> None:
    fifo = changed(large(), left_ms=None, handicap_ms=0)
    old = changed(small("old"), left_ms=None, handicap_ms=0, entry_time_ms=0)
    plan = schedule(snapshot(fifo, old, small("new", 0.1), size=1, policy=BY_REMAINING))
    assert preemptions(plan) == []
    assert [wait.job for wait in plan.waits] == ["old", "new"]


def test_the_minimum_run_time_holds_among_equals() -> None:
    policy = replace(BY_REMAINING, min_run_time_ms=1000)
    assert decided(large(since=NOW_MS - 999), small(), policy) == []
    assert decided(large(since=NOW_MS - 1000), small(), policy) == [("large", "small")]


WEEK = 7 * 24 * HOUR
AT_MOST_TWICE = replace(BY_REMAINING, max_preemptions=2)

CAPPED: list[tuple[str, Allocation, Policy, list[tuple[str, str]]]] = [
    ("a job below the cap is stopped", large(hours=99, preemptions=1), AT_MOST_TWICE, [("large", "small")]),
    (
        "a job at the cap keeps its instances until a week after its entry",
        large(hours=99, entry_time_ms=NOW_MS - WEEK + 1, preemptions=2),
        AT_MOST_TWICE,
        [],
    ),
    (
        "then the cap counts again",
        large(hours=99, entry_time_ms=NOW_MS - WEEK, preemptions=2),
        AT_MOST_TWICE,
        [("large", "small")],
    ),
    (
        "so it is stopped as often in each week",
        large(hours=99, entry_time_ms=NOW_MS - 2 * WEEK + 1, preemptions=3),
        AT_MOST_TWICE,
        [("large", "small")],
    ),
    (
        "and no more often",
        large(hours=99, entry_time_ms=NOW_MS - 2 * WEEK + 1, preemptions=4),
        AT_MOST_TWICE,
        [],
    ),
    (
        "a cap of 0 holds for ever",
        large(hours=99, entry_time_ms=NOW_MS - 9 * WEEK),
        replace(BY_REMAINING, max_preemptions=0),
        [],
    ),
]


@pytest.mark.parametrize(("running", "policy", "stopped"), [row[1:] for row in CAPPED], ids=[row[0] for row in CAPPED])
def test_the_cap_on_preemptions_counts_for_each_week_since_the_entry(
    running: Allocation, policy: Policy, stopped: list[tuple[str, str]]
) -> None:
    assert decided(running, small(entry_time_ms=0), policy) == stopped
    # So it does for preemptions by jobs of higher priority.
    assert decided(running, small("urgent", priority=1), policy) == [(job, "urgent") for job, _ in stopped]


@pytest.mark.parametrize(
    "running",
    [large(checkpoints=False), large(left_ms=None), large(left_ms=None, attained_ms=0)],
    ids=["a job without checkpoints", "a job of another order", "a job that shares"],
)
def test_for_others_the_cap_counts_for_the_life_of_a_job(running: Allocation) -> None:
    old = changed(running, entry_time_ms=NOW_MS - 9 * WEEK)
    assert decided(changed(old, preemptions=1), small("urgent", priority=1), AT_MOST_TWICE) == [("large", "urgent")]
    assert decided(changed(old, preemptions=2), small("urgent", priority=1), AT_MOST_TWICE) == []


def test_an_attempt_at_the_cap_is_no_candidate_before_the_cap_counts_again() -> None:
    attempt = large(hours=9999, entry_time_ms=0, preemptions=2)
    assert [may_give_way(attempt, at_ms, AT_MOST_TWICE) for at_ms in (WEEK - 1, WEEK)] == [False, True]
    assert not may_give_way(attempt, WEEK, replace(BY_REMAINING, max_preemptions=0))


def test_an_attempt_is_protected_by_the_cap_and_by_the_minimum_run_time() -> None:
    policy = replace(AT_MOST_TWICE, min_run_time_ms=1000)
    assert protected_until_ms(large(since=WEEK - 1001, preemptions=2), policy) == WEEK
    assert protected_until_ms(large(since=WEEK - 999, preemptions=2), policy) == WEEK + 1


def test_among_equals_those_are_stopped_of_which_more_is_left_and_then_those_that_lose_less() -> None:
    most = large("most", 40, since=0)
    less, least = large("less", 20, since=NOW_MS - 60_000), large("least", 18, since=NOW_MS - 10_000)
    plan = schedule(snapshot(least, less, most, small(), size=3, policy=BY_REMAINING))
    assert preemptions(plan) == [("most", "small")]
    # In powers of two as much is left of both of these.
    plan = schedule(snapshot(less, least, small(), size=2, policy=BY_REMAINING))
    assert preemptions(plan) == [("least", "small")]


def test_an_attempt_of_lower_priority_is_stopped_before_an_equal() -> None:
    plan = schedule(
        snapshot(large("equal", 90, 5), large("lower", 9, 1), small(priority=5), size=2, policy=BY_REMAINING)
    )
    assert preemptions(plan) == [("lower", "small")]


def test_equals_and_attempts_of_lower_priority_are_stopped_together() -> None:
    wide = replace(small(priority=5), demand={P5: 2})
    plan = schedule(snapshot(large("equal", 90, 5), large("lower", 9, 1), wide, size=2, policy=BY_REMAINING))
    assert sorted(preemptions(plan)) == [("equal", "small"), ("lower", "small")]


def test_where_there_are_teams_jobs_preempt_equals_of_their_own_team_only() -> None:
    policy = replace(BY_REMAINING, teams={"a": Team(), "b": Team()})
    assert decided(large(team="a"), small(team="b"), policy) == []
    assert decided(large(team="a"), small(team="a"), policy) == [("large", "small")]
    # Without teams in the policy their names have no effect.
    assert decided(large(team="a"), small(team="b")) == [("large", "small")]


def test_a_job_that_reclaims_says_so_for_the_other_team_and_names_the_order_for_its_own() -> None:
    policy = replace(BY_REMAINING, teams={"a": Team(guaranteed={P5: 2}), "b": Team()})
    plan = schedule(snapshot(large(team="b"), small(team="a"), size=1, policy=policy))
    assert [action.reason.code for action in plan.actions] == [ReasonCode.RECLAIMED]
    plan = schedule(snapshot(large(team="a"), small(team="a"), size=1, policy=policy))
    assert [action.reason.code for action in plan.actions] == [ReasonCode.PREEMPTED]


def test_priority_that_a_job_has_gained_by_ageing_protects_it_from_equals() -> None:
    policy = replace(BY_REMAINING, ageing=Ageing(interval_ms=HOUR, cap=1))
    aged = large(since=2 * HOUR)
    later = replace(snapshot(aged, small(entry_time_ms=2 * HOUR), size=1, policy=policy), now_ms=2 * HOUR)
    assert preemptions(schedule(later)) == []
    young = changed(aged, entry_time_ms=2 * HOUR)
    assert preemptions(schedule(replace(later, allocations=(young,)))) == [("large", "small")]


def test_a_job_that_would_rank_higher_by_its_age_once_it_waits_again_is_not_stopped_for_an_equal() -> None:
    policy = replace(BY_REMAINING, ageing=Ageing(interval_ms=HOUR, cap=1))
    # It started at once, so it has gained nothing; waiting again it would have gained one.
    running = changed(large(), since_ms=0, entry_time_ms=0)
    later = replace(snapshot(running, small(entry_time_ms=HOUR), size=1, policy=policy), now_ms=HOUR)
    assert preemptions(schedule(later)) == []
    assert preemptions(schedule(replace(later, policy=BY_REMAINING))) == [("large", "small")]


GIVES_WAY = {
    "yes": (large(), small(), True),
    "the preemptor entered in another order": (large(), small(left_ms=None), False),
    "its turn comes at the same time": (large(since=NOW_MS), small(entry_time_ms=80 * HOUR), False),
    "its turn comes a moment later": (large(since=NOW_MS), small(entry_time_ms=80 * HOUR - 1), True),
    "its priority is higher": (large(priority=1), small(), False),
    "its priority is lower": (large(), small(priority=1), False),
    "it is a warm pool": (large(warm="k"), small(), False),
}


@pytest.mark.parametrize("case", GIVES_WAY)
def test_an_attempt_yields_to_an_equal(case: str) -> None:
    running, waiting, yields = GIVES_WAY[case]
    assert yields_to_equal(running, waiting, NOW_MS, BY_REMAINING) is yields


def test_a_victim_of_lower_priority_is_spared_if_it_would_rank_first_by_its_age_and_what_is_left_of_it() -> None:
    policy = replace(BY_REMAINING, ageing=Ageing(interval_ms=5 * HOUR, cap=1))
    nearly_done, urgent = large(hours=9, since=0), small("urgent", priority=1, entry_time_ms=8 * HOUR)
    later = replace(snapshot(nearly_done, urgent, size=1, policy=policy), now_ms=8 * HOUR)
    # Its turn would be 10 h after its entry at 0, that of the other is at 18 h.
    assert preemptions(schedule(later)) == []
    just_begun = replace(nearly_done, since_ms=4 * HOUR)
    assert preemptions(schedule(replace(later, allocations=(just_begun,)))) == [("large", "urgent")]


def test_a_large_job_still_preempts_lower_priorities_behind_a_blocked_one() -> None:
    # Little is left of the attempt, so no equal of the job would give way.
    lower = large("lower", 0.5, since=NOW_MS, limit_ms=9 * HOUR)
    first = changed(small("first", 5, 5, preempts=False), handicap_ms=0)
    ends = changed(held("ends", 9, since=NOW_MS), limit_ms=HOUR)
    plan = schedule(snapshot(lower, ends, first, small("second", 5, 5), size=2, policy=BY_REMAINING))
    assert preemptions(plan) == [("lower", "second")]


def test_a_job_whose_turn_comes_first_preempts_behind_one_with_a_reservation_that_no_equal_gives_way_to() -> None:
    policy = replace(BY_REMAINING, teams={"a": Team()})
    # The turn of `promised` comes after that of `running`, but what is reserved for it is considered first.
    promised = replace(small("promised", entry_time_ms=200 * HOUR, team="a"), demand={P5: 2})
    waiting = replace(small("waiting", 2, team="a"), demand={P5: 2})
    running = replace(large(hours=9, since=NOW_MS, team="a", limit_ms=9 * HOUR), demand={P5: 2})
    ends = changed(held("ends", 9, since=NOW_MS, team="a"), limit_ms=HOUR)
    plan = schedule(snapshot(running, ends, promised, waiting, reserved("promised"), size=4, policy=policy))
    assert preemptions(plan) == [("large", "waiting")]


def test_a_smaller_job_preempts_behind_a_larger_one_of_its_kind_that_no_equal_gives_way_to() -> None:
    # The first entered long before, so its turn comes sooner although it is larger. It waits for the end of `ends`.
    first = small("first", 5, entry_time_ms=NOW_MS - 60 * HOUR)
    ends = changed(held("ends", 9, since=NOW_MS), limit_ms=HOUR)
    running = large(hours=9, since=NOW_MS, limit_ms=9 * HOUR)
    plan = schedule(snapshot(running, ends, first, small("second"), size=2, policy=BY_REMAINING))
    assert preemptions(plan) == [("large", "second")]
    assert plan.waits[0].start_by_ms == NOW_MS + HOUR


def test_a_preemption_of_an_equal_of_which_too_little_is_left_is_not_applied() -> None:
    good = snapshot(large(), small(), size=1, policy=BY_REMAINING)
    plan = schedule(good)
    check_plan(good, plan)
    for bad in (
        replace(good, waiting=(small(hours=5),)),
        replace(good, policy=Policy()),
        replace(good, allocations=(large(checkpoints=False),)),
        replace(good, allocations=(large(priority=1),)),
    ):
        with pytest.raises(InvariantViolation, match="whose priority is not higher"):
            check_plan(bad, plan)


def test_equals_give_way_behind_a_job_that_entered_in_another_order() -> None:
    """The first in line has entered as `fifo`, so it preempts no equal. The tick looks at the jobs behind it."""
    before = job("before", count=2, entered=NOW_MS)
    running = (large(), held("other", 9, ends_in_s=600), held("another", 9, ends_in_s=600))
    queue = snapshot(*running, before, small(entry_time_ms=NOW_MS + 1), size=3, policy=BY_REMAINING)
    assert preemptions(schedule(queue, explain=False)) == preemptions(schedule(queue)) == [("large", "small")]


def test_the_tick_looks_at_no_job_behind_one_whose_turn_comes_after_all_that_give_way() -> None:
    late = [job(f"late{number}", entered=NOW_MS + 100 * HOUR + number) for number in range(3)]
    queue = snapshot(large(), *late, size=1, policy=BY_REMAINING)
    assert schedule(queue, explain=False).unseen == 3
    assert schedule(queue).unseen == 0


def test_the_tick_looks_at_no_job_of_a_lower_priority_than_all_attempts() -> None:
    queue = snapshot(large(priority=1), *(small(f"small{number}") for number in range(3)), size=1, policy=BY_REMAINING)
    assert schedule(queue, explain=False).unseen == 3
