"""The plan and the reasons of one decision where several jobs wait for the same instances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import STOP_MS, Pause, Snapshot, WaitingJob
from headway.plan import Plan
from headway.policy import Ageing, Policy, Team
from headway.reasons import ReasonCode
from headway.scheduling.placement import trying
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.scheduler import decide, schedule
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
    waiting_job,
)


def test_behind_a_job_that_has_aged_another_one_may_still_preempt() -> None:
    policy = Policy(ageing=Ageing(interval_ms=1000, cap=9))
    running = (held("x", 5, since=NOW_MS), held("y", 5, pool=G5, since=NOW_MS))
    line = (job("old", 0, entered=NOW_MS - 9000), job("urgent", 8, pool=G5, entered=NOW_MS))
    plan = schedule(snapshot(*running, *line, pools={P5: 1, G5: 1}, policy=policy), explain=False)
    assert preemptions(plan) == [("y", "urgent")]


def test_a_job_that_would_delay_the_first_blocked_one_has_an_expected_start() -> None:
    parts = (
        held("x", 9, count=2, ends_in_s=600),
        job("wide", 5, count=3, limit_s=1000),
        job("mid", 4, count=2, limit_s=5000),
    )
    plan = schedule(snapshot(*parts, size=4, policy=Policy(reserved_heads=2)))
    assert [(hold.job, hold.start_by_ms) for hold in plan.waits] == [
        ("wide", NOW_MS + 600_000),
        ("mid", NOW_MS + 1_600_000),
    ]


@pytest.mark.parametrize("priority", [0, 5, 9])
def test_what_is_reclaimed_from_another_team_says_so_whatever_its_priority(priority: int) -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1})})
    plan = schedule(snapshot(held("x", priority, team="b"), job("w", 5, team="a"), size=1, policy=policy))
    assert preemptions(plan) == [("x", "w")]
    assert [action.reason.code for action in plan.actions] == [ReasonCode.RECLAIMED]


def test_an_attempt_of_the_own_team_is_preempted_by_priority() -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1})})
    plan = schedule(snapshot(held("x", 0, team="a"), job("w", 5, team="a"), size=1, policy=policy))
    assert [action.reason.code for action in plan.actions] == [ReasonCode.PREEMPTED]


def test_a_job_waits_for_its_victims_and_for_attempts_that_stop_anyway() -> None:
    parts = (held("x"), held("y", stopping=True), held("other", pool=G5, stopping=True), job("w", 5, count=2))
    plan = schedule(snapshot(*parts, pools={P5: 2, G5: 1}))
    assert preemptions(plan) == [("x", "w")]
    assert reason_of(plan, "w") == f"starts on 2 {P5} as soon as `x`, `y` have stopped"


def test_a_job_whose_victims_suffice_waits_for_no_other_attempt() -> None:
    plan = schedule(snapshot(held("x"), held("y", stopping=True), job("first", 9), job("second", 8), size=2))
    assert preemptions(plan) == [("x", "second")]
    assert [reason_of(plan, name).partition(";")[0] for name in ("first", "second")] == [
        f"starts on 1 {P5} as soon as `y` has stopped",
        f"starts on 1 {P5} as soon as `x` has stopped",
    ]


def test_a_job_that_finds_too_few_victims_waits_behind_the_first_job_that_found_too_few() -> None:
    plan = schedule(snapshot(held("x"), held("y", 9), job("wide", 5, count=2), job("next", 4, count=2)))
    assert [(hold.job, hold.reason.code) for hold in plan.waits] == [
        ("wide", ReasonCode.WAITS_FOR_CAPACITY),
        ("next", ReasonCode.WAITS_BEHIND),
    ]


def test_a_job_counts_on_the_end_of_one_that_starts_in_the_same_decision() -> None:
    plan = schedule(snapshot(job("short", 9, limit_s=60), job("next", 5, limit_s=60), size=1))
    assert starts(plan) == ["short"]
    assert [(hold.job, hold.start_by_ms) for hold in plan.waits] == [("next", NOW_MS + 60_000)]


def test_a_job_that_ends_before_a_reserved_start_uses_no_slack_of_it() -> None:
    parts = (held("x", 9, count=2, ends_in_s=600), job("wide", 5, count=3), job("short", 4, limit_s=60), job("long", 3))
    assert starts(schedule(snapshot(*parts, size=4))) == ["short", "long"]


def test_the_lowest_reservation_is_taken_over_first() -> None:
    owners = (reserved("high"), reserved("low"), job("high", 5, count=2), job("low", 3, count=2))
    plan = schedule(snapshot(held("x", 9), *owners, job("urgent", 9), size=3))
    assert (releases(plan), starts(plan)) == (["low"], ["urgent"])


def test_a_job_behind_a_blocked_one_takes_over_the_reservation_of_a_lower_one() -> None:
    owner = (reserved("owner"), job("owner", 3, count=2))
    plan = schedule(
        snapshot(held("x", 9, count=3, ends_in_s=600), job("head", 9, count=2), job("next", 5), *owner, size=4)
    )
    assert (releases(plan), starts(plan)) == (["owner"], ["next"])


def test_a_job_counts_on_what_is_being_freed_for_a_lower_one_where_preemption_does_not_help_it() -> None:
    running = (held("stops", freed_for="lower"), held("protected", count=2, ends_in_s=600, preemptible=False))
    plan = schedule(snapshot(*running, job("higher", 5, count=3), job("lower", 3), size=5))
    assert (starts(plan), preemptions(plan)) == ([], [])
    assert reason_of(plan, "higher").startswith(f"starts on 3 {P5} as soon as `stops` has stopped")
    assert told(plan)[1] == ("lower", ReasonCode.WAITS_FOR_CAPACITY, 600_000)


def test_a_job_counts_on_what_is_being_freed_for_a_lower_one_beside_its_victims() -> None:
    running = (held("stops", freed_for="lower"), held("x", count=1), held("protected", 9, count=2))
    plan = schedule(snapshot(*running, job("higher", 5, count=2), job("lower", 3), size=4))
    assert preemptions(plan) == [("x", "higher")]
    assert reason_of(plan, "higher").startswith(f"starts on 2 {P5} as soon as `x`, `stops` have stopped")


def test_a_job_leaves_what_is_being_freed_for_a_lower_one_where_its_victims_do() -> None:
    running = (held("stops", freed_for="lower"), held("x", count=1))
    plan = schedule(snapshot(*running, job("higher", 5), job("lower", 3), size=2))
    assert preemptions(plan) == [("x", "higher")]
    assert reason_of(plan, "lower").startswith(f"starts on 1 {P5} as soon as `stops` has stopped")


def test_a_job_leaves_what_is_being_freed_for_a_lower_one_where_it_would_not_do() -> None:
    running = (held("stops", freed_for="lower"), held("protected", 9, count=2, ends_in_s=600))
    plan = schedule(snapshot(*running, job("higher", 5, count=2), job("lower", 3), size=3))
    assert told(plan)[0] == ("higher", ReasonCode.WAITS_FOR_CAPACITY, 600_000)
    assert reason_of(plan, "lower").startswith(f"starts on 1 {P5} as soon as `stops` has stopped")


def test_a_job_takes_over_no_more_of_what_is_being_freed_than_it_lacks() -> None:
    running = (held("stops", freed_for="low"), held("ends", freed_for="high"), held("protected", 9, ends_in_s=600))
    line = (job("first", 5), job("high", 4), job("low", 3))
    plan = schedule(snapshot(*running, *line, size=3))
    assert [reason_of(plan, name).partition(";")[0] for name in ("first", "high")] == [
        f"starts on 1 {P5} as soon as `stops` has stopped",
        f"starts on 1 {P5} as soon as `ends` has stopped",
    ]
    assert told(plan)[2] == ("low", ReasonCode.WAITS_FOR_CAPACITY, 600_000)


def test_a_job_keeps_its_rank_where_a_job_of_higher_rank_counts_on_what_is_being_freed_for_it() -> None:
    policy = Policy(teams={"red": Team(), "blue": Team()})
    running = (held("stops", freed_for="lower"), held("protected", 9, team="red"))
    line = (job("higher", 5, team="red"), job("lower", 3, team="red"), job("other", 3, entered=1, team="blue"))
    plan = schedule(snapshot(*running, *line, policy=policy))
    assert [name for name, *_ in told(plan)] == ["higher", "lower", "other"]


def test_a_job_may_start_beside_a_reserved_start_whose_victims_are_still_protected() -> None:
    policy = Policy(min_run_time_ms=600_000)
    parts = (held("x", count=2, since=NOW_MS), job("head", 5, count=2), job("next", 3))
    plan = schedule(snapshot(*parts, size=3, policy=policy))
    assert (starts(plan), told(plan)) == (["next"], [("head", ReasonCode.WAITS_FOR_CAPACITY, 600_000)])


def test_a_reserved_start_needs_no_victim_where_a_job_that_starts_now_has_ended_by_then() -> None:
    line = (job("short", 9, limit_s=600), later(job("head", 5, count=2), 700_000), job("next", 3))
    plan = schedule(snapshot(held("x"), *line, size=3))
    # What is free is kept for the head, and `x` is not.
    assert (starts(plan), preemptions(plan)) == (["short"], [("x", "next")])
    assert told(plan)[1] == ("next", ReasonCode.WAITS_FOR_FREED, None)


def test_the_victims_of_a_reserved_start_are_attempts_that_have_not_ended_by_then() -> None:
    running = (held("ends", 9, count=2, ends_in_s=600), held("x", count=2), held("soon", since=1, ends_in_s=300))
    plan = schedule(snapshot(*running, job("head", 5, count=5), job("next", 3), size=6))
    assert (starts(plan), told(plan)) == (["next"], [("head", ReasonCode.WAITS_FOR_CAPACITY, 600_000)])


def test_a_job_preempts_an_attempt_that_a_reserved_start_does_not_need() -> None:
    running = (held("ends", 9, count=2, ends_in_s=600), held("x"))
    plan = schedule(snapshot(*running, job("head", 5, count=2), job("next", 3), size=3))
    assert (preemptions(plan), told(plan)[0]) == ([("x", "next")], ("head", ReasonCode.WAITS_FOR_CAPACITY, 600_000))


def test_a_job_preempts_no_attempt_that_a_reserved_start_may_need_with_others_that_are_protected() -> None:
    policy = Policy(min_run_time_ms=600_000)
    running = (held("new", since=NOW_MS), held("old", since=NOW_MS - 600_000), held("ends", 9, ends_in_s=600))
    plan = schedule(snapshot(*running, job("head", 5, count=3), job("next", 5, entered=1), size=3, policy=policy))
    assert preemptions(plan) == []
    assert told(plan)[0] == ("head", ReasonCode.WAITS_FOR_CAPACITY, 600_000)


@pytest.mark.parametrize(("left_s", "preempted"), [(720, True), (721, False)])
def test_a_reserved_start_relies_on_no_victim_that_then_ends_as_soon_as_a_stop_would_end_it(
    left_s: int, *, preempted: bool
) -> None:
    policy = Policy(min_run_time_ms=600_000)
    old = held("old", since=NOW_MS - 600_000, ends_in_s=left_s)
    running = (held("new", 1, since=NOW_MS), old, held("ends", 9, ends_in_s=600))
    plan = schedule(snapshot(*running, job("head", 5, count=2), job("next", 5, entered=1), size=3, policy=policy))
    assert (preemptions(plan) == [("old", "next")]) is preempted


def test_a_job_preempts_no_attempt_whose_instances_a_job_with_an_unknown_start_needs() -> None:
    line = (job("head", 5, count=3), job("next", 5, entered=1))
    plan = schedule(snapshot(held("x", 9, count=2), held("v"), *line, size=3))
    assert (preemptions(plan), told(plan)[1]) == ([], ("next", ReasonCode.WOULD_DELAY, None))


def test_two_reserved_starts_do_not_count_on_one_victim() -> None:
    second = waiting_job(name="second", demand={P5: 3, G5: 1}, priority=4, entry_time_ms=0)
    running = (held("v", count=2), held("ends", 9, ends_in_s=600))
    line = (later(job("first", 5, count=2, limit_s=300), 600_000), second)
    plan = schedule(snapshot(*running, *line, pools={P5: 3, G5: 1}))
    assert [start_ms for *_, start_ms in told(plan)] == [600_000, None]


@pytest.mark.parametrize(
    ("left_s", "start_s"), [(239, 239), (240, 240), (241, 120)], ids=["no victim then", "nor at the bound", "a victim"]
)
def test_a_reserved_start_counts_on_no_victim_that_then_ends_as_soon_as_a_stop_would_end_it(
    left_s: int, start_s: int
) -> None:
    running = (held("ends", ends_in_s=120), held("limited", ends_in_s=left_s), held("endless", 5))
    plan = schedule(snapshot(*running, job("head", 5, count=3), size=4))
    assert told(plan) == [("head", ReasonCode.WAITS_FOR_CAPACITY, start_s * 1000)]


@pytest.mark.parametrize(
    ("free", "ends", "low", "head", "needed", "stopped"),
    [
        pytest.param(0, 2, 1, 2, 1, 1, id="nothing is free"),
        pytest.param(1, 2, 1, 3, 1, 1, id="what is free is kept for the head"),
        pytest.param(2, 3, 1, 4, 2, 1, id="one of two is kept"),
        pytest.param(2, 3, 2, 5, 2, 2, id="both are kept"),
        pytest.param(1, 2, 1, 4, 1, 0, id="the head needs the attempt too"),
    ],
)
def test_a_job_preempts_beside_free_instances_that_are_kept_for_a_reserved_start(
    free: int, ends: int, low: int, head: int, needed: int, stopped: int
) -> None:
    running = (held("ends", 9, count=ends, ends_in_s=600), *(held(f"low{number}") for number in range(low)))
    line = (job("head", 5, count=head), job("next", 3, count=needed))
    plan = schedule(snapshot(*running, *line, size=free + ends + low))
    assert (starts(plan), preemptions(plan)) == ([], [(f"low{number}", "next") for number in range(stopped)])
    assert told(plan)[0] == ("head", ReasonCode.WAITS_FOR_CAPACITY, 600_000)


def test_a_job_that_fits_no_pool_has_no_place_and_is_not_ahead_of_others() -> None:
    plan = schedule(snapshot(held("x", 9), job("giant", 5, count=7), job("next", 3), size=1))
    assert [(hold.job, hold.ahead) for hold in plan.waits] == [("giant", None), ("next", 0)]


def test_a_job_over_its_teams_limit_has_that_reason_at_any_place() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 1})})
    line = (job("head", 5, team="b", count=2), job("over", 4, team="a", count=2), job("next", 3, team="b", count=2))
    plan = schedule(snapshot(held("x", 9, team="b"), *line, policy=policy))
    assert [(hold.job, hold.reason.code, hold.ahead) for hold in plan.waits] == [
        ("head", ReasonCode.WAITS_FOR_CAPACITY, 0),
        ("over", ReasonCode.EXCEEDS_LIMIT, None),
        ("next", ReasonCode.WAITS_BEHIND, 1),
    ]


def test_a_job_that_lacks_instances_waits_behind_the_first_one_though_its_team_is_at_its_limit() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 4})})
    line = (job("head", 5, team="b", count=4), job("also", 4, team="a", count=3))
    plan = schedule(snapshot(held("x", 9, team="a", count=2), *line, size=4, policy=policy))
    assert [(hold.job, hold.reason.code) for hold in plan.waits] == [
        ("head", ReasonCode.WAITS_FOR_CAPACITY),
        ("also", ReasonCode.WAITS_BEHIND),
    ]


def later(waiting: WaitingJob, wait_ms: int) -> WaitingJob:
    """The job, held back until then."""
    return replace(waiting, not_before_ms=NOW_MS + wait_ms)


def told(plan: Plan) -> list[tuple[str, ReasonCode, int | None]]:
    """Each wait: the job, the code, and the time until its reserved start, ms."""
    return [
        (hold.job, hold.reason.code, None if hold.start_by_ms is None else hold.start_by_ms - NOW_MS)
        for hold in plan.waits
    ]


@pytest.mark.parametrize("explain", [True, False])
def test_a_job_with_a_reservation_is_evaluated_at_any_place(explain: bool) -> None:
    parts = (held("x", freed_for="owed"), job("ahead", 9, count=1), job("owed"))
    assert schedule(snapshot(*parts, size=1), explain=explain).unseen == 0


def test_a_decision_with_explanations_evaluates_all_waiting_jobs() -> None:
    paused = (job("halted", 9, pool=G5), job("too", 8, pool=G5))
    known = snapshot(*paused, job("a", 3), job("b"), job("c"), pools={P5: 1, G5: 1})
    assert schedule(known).unseen == 0
    assert schedule(replace(known, pauses={G5: Pause(by="ada", reason="x", since_ms=0)})).unseen == 0


def test_a_decision_without_explanations_ends_when_nothing_is_free_or_reserved() -> None:
    parts = (reserved("wide", 2), job("wide", 1, count=3), job("next"))
    assert schedule(snapshot(*parts, size=3), explain=False).unseen == 1


def test_a_job_is_held_back_to_the_millisecond() -> None:
    assert starts(schedule(snapshot(later(job("a"), 1)))) == []
    assert starts(schedule(snapshot(later(job("a"), 0)))) == ["a"]


@pytest.mark.parametrize(("wait_ms", "said"), [(1000, "1 s"), (1001, "2 s"), (60_000, "1 min")])
def test_a_delay_is_reported_in_words_from_whole_seconds_rounded_up(wait_ms: int, said: str) -> None:
    plan = schedule(snapshot(replace(later(job("a"), wait_ms), held_by="its last attempt failed")))
    assert reason_of(plan, "a") == f"its last attempt failed; next try in {said}, the place in the queue is kept"


def test_a_job_counts_on_the_limit_of_one_that_preempts_in_the_same_decision() -> None:
    plan = schedule(snapshot(held("x"), job("first", 3, limit_s=60), job("next", 1), size=1))
    assert preemptions(plan) == [("x", "first")]
    assert told(plan)[1] == ("next", ReasonCode.WAITS_FOR_CAPACITY, 60_000)


def test_a_job_that_is_held_back_and_lacks_instances_waits_behind_the_first_one() -> None:
    parts = (later(job("head", 3), 1000), job("starts", 2, count=2), later(job("late", 1, count=2), 60_000))
    assert told(schedule(snapshot(*parts, size=3))) == [
        ("head", ReasonCode.BACKS_OFF, 1000),
        ("late", ReasonCode.WAITS_BEHIND, None),
    ]


def test_a_job_that_demands_a_whole_pool_waits_behind_the_first_one() -> None:
    parts = (later(job("head", 3), 1000), job("starts", 2), later(job("whole", 1, count=3), 60_000))
    assert told(schedule(snapshot(*parts, size=3)))[1] == ("whole", ReasonCode.WAITS_BEHIND, None)


def test_a_job_that_could_preempt_is_not_reported_as_waiting_behind_another() -> None:
    parts = (held("x", count=1), later(job("head", 3), 1000), job("next", 2))
    assert told(schedule(snapshot(*parts, size=1)))[1] == ("next", ReasonCode.WOULD_DELAY, None)


def test_a_job_that_is_held_back_and_would_fit_has_the_time_of_its_retry() -> None:
    parts = (job("starts", 2), job("wide", 1, count=3), later(job("late"), 1000))
    assert told(schedule(snapshot(*parts, size=3)))[1] == ("late", ReasonCode.BACKS_OFF, None)


def test_a_job_may_count_on_instances_that_are_being_freed_for_no_job() -> None:
    parts = (held("x", count=2), later(job("head", 2), 60_000), job("preempts", 2, entered=1), job("last", 1))
    plan = schedule(snapshot(*parts, size=2))
    assert preemptions(plan) == [("x", "preempts")]
    assert told(plan)[2] == ("last", ReasonCode.WOULD_DELAY, None)
    assert told(schedule(snapshot(held("x", stopping=True), later(job("late"), 1), size=1))) == [
        ("late", ReasonCode.BACKS_OFF, STOP_MS)
    ]


def test_a_job_whose_team_is_at_its_limit_has_that_reason_if_its_pools_suffice() -> None:
    policy = Policy(teams={"a": Team(limit={P5: 1})})
    parts = (held("x", 9, team="a", ends_in_s=600), job("wide", 5, team="b", count=3), job("at limit", 4, team="a"))
    assert told(schedule(snapshot(*parts, size=3, policy=policy)))[1][:2] == ("at limit", ReasonCode.WAITS_FOR_LIMIT)


def test_a_preempted_attempt_is_subtracted_from_its_teams_use_once() -> None:
    policy = Policy(teams={"blue": Team()})
    line = (job("all", 3, count=3), job("blue", 1, team="blue"), job("green", 1, team="green", entered=1))
    plan = schedule(snapshot(held("x", team="green"), *line, size=3, policy=policy))
    assert preemptions(plan) == [("x", "all")]
    assert [name for name, *_ in told(plan)] == ["all", "blue", "green"]


def test_a_job_with_a_reservation_in_a_shrunken_pool_waits_for_stopping_attempts() -> None:
    parts = (
        *(held("x", 3, pool=P5, count=4), held("y", 3, pool=G5), held("z", 1, pool=G5)),
        held("stops", 1, pool=G5, count=3, freed_for="first", freed=1),
        *(reserved("second", 2, G5), job("first", 2, pool=G5), job("second", 1, pool=G5, count=2)),
    )
    plan = schedule(snapshot(*parts, pools={P5: 5, G5: 5}))
    assert reason_of(plan, "second") == f"starts on 2 {G5} as soon as `stops` has stopped; 1 waiting job ahead"


def test_a_reserved_start_waits_until_a_shrunken_pool_is_whole_again() -> None:
    running = (held("x", 2, count=2), held("ends", 2, count=2, ends_in_s=600))
    plan = schedule(snapshot(*running, reserved("w", 3), job("w", 2, count=2), size=5))
    assert told(plan) == [("w", ReasonCode.WAITS_FOR_CAPACITY, 600_000)]


def test_a_reserved_start_counts_on_attempts_that_the_job_may_preempt() -> None:
    aged = replace(held("x", count=2, since=NOW_MS - 240_000, entered=NOW_MS - 300_000), demand={P5: 2, G5: 1})
    head = later(job("head", 2, limit_s=300), 1500)
    policy = Policy(ageing=Ageing(interval_ms=60_000, cap=3))
    both = waiting_job(name="both", demand={P5: 1, G5: 1}, priority=1, entry_time_ms=0)
    plan = schedule(snapshot(aged, head, both, pools={P5: 1, G5: 1}, policy=policy))
    # The job waits for its victim to stop, so its limit does not prove when it ends.
    assert told(plan) == [("head", ReasonCode.BACKS_OFF, 1500), ("both", ReasonCode.WAITS_FOR_CAPACITY, None)]


def test_pools_in_another_order_are_the_same_pools() -> None:
    one = waiting_job(name="one", demand={P5: 1, G5: 1}, priority=1, entry_time_ms=0)
    two = waiting_job(name="two", demand={G5: 1, P5: 1}, priority=0, entry_time_ms=0)
    plan = schedule(snapshot(held("x", 9), one, two, pools={P5: 1, G5: 1}))
    assert [code for _, code, _ in told(plan)] == [ReasonCode.WAITS_FOR_CAPACITY, ReasonCode.WAITS_BEHIND]


def test_a_job_behind_reservations_of_its_pool_has_an_expected_start() -> None:
    mine = waiting_job(name="mine", demand={P5: 1, G5: 1}, priority=1, entry_time_ms=0)
    parts = (reserved("mine", 1, G5), later(job("head", 2, limit_s=300), 1000), mine)
    plan = schedule(snapshot(*parts, pools={P5: 1, G5: 1}))
    assert told(plan)[1] == ("mine", ReasonCode.WOULD_DELAY, 301_000)


def test_no_job_counts_on_the_end_of_a_job_that_waits_for_its_instances() -> None:
    running = (held("x", 3), held("stops", count=4, stopping=True))
    line = (later(job("head", 3), 60_000), job("short", 1, count=2, limit_s=60), job("next", 1, count=2, entered=1))
    assert [code for _, code, _ in told(schedule(snapshot(*running, *line, size=5)))] == [
        ReasonCode.BACKS_OFF,
        ReasonCode.WAITS_FOR_FREED,
        ReasonCode.WOULD_DELAY,
    ]


def test_a_pool_that_a_blocked_job_has_enough_of_is_not_kept_for_it() -> None:
    running = (held("x", count=2), replace(held("y", 2, count=2, preemptible=False), demand={P5: 2, G5: 2}))
    both = waiting_job(name="both", demand={P5: 1, G5: 1}, priority=3, entry_time_ms=0)
    line = (reserved("both", 1), both, job("first", 2), job("second", 2, entered=1))
    plan = schedule(snapshot(*running, *line, pools={P5: 5, G5: 1}))
    assert [code for _, code, _ in told(plan)] == [
        ReasonCode.WAITS_FOR_CAPACITY,
        ReasonCode.WAITS_FOR_FREED,
        ReasonCode.WAITS_FOR_FREED,
    ]


def test_a_decision_looks_for_victims_beside_what_is_kept_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    running = (held("ends", 9, count=2, ends_in_s=600), held("x"))
    queue = snapshot(*running, job("head", 5, count=3), job("next", 3), size=4)
    assert preemptions(schedule(queue)) == [("x", "next")]
    monkeypatch.setattr(trying, "MAX_COMPARISONS_BESIDE", -1)
    plan = schedule(queue)
    assert preemptions(plan) == []
    assert told(plan)[1] == ("next", ReasonCode.WOULD_DELAY, None)


def test_a_decision_looks_no_further_for_a_job_that_takes_nothing_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    running = (held("ends", 9, count=2, ends_in_s=600), held("x"))
    queue = snapshot(*running, job("head", 5, count=3), *(job(f"next{number}", 3) for number in range(3)), size=3)
    before = looks_of(queue)
    monkeypatch.setattr(trying, "MAX_COMPARISONS_BESIDE", -1)
    assert looks_of(queue) == before


def looks_of(queue: Snapshot) -> int:
    """How much a decision evaluates."""
    state = PassState(queue, explain=False)
    decide(state)
    return state.ground.comparisons.made


def test_what_is_being_freed_for_a_lower_job_is_taken_over_after_its_reservation_was() -> None:
    owner = (reserved("owner"), job("owner", 1, count=3))
    running = (held("stops", 9, count=3, freed_for="owner", freed=2), held("x", 9, count=1, ends_in_s=600))
    plan = schedule(snapshot(*running, job("first", 5), job("second", 4, count=3), *owner, size=5))
    assert (releases(plan), starts(plan)) == (["owner"], ["first"])
    assert reason_of(plan, "second") == f"starts on 3 {P5} as soon as `stops` has stopped"
    assert reason_of(plan, "owner").startswith("needs")
