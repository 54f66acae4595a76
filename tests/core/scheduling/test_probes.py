"""Unlaunchable jobs: nobody waits for them, and they are tried again at a bounded cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.model import (
    LATE_MS,
    Allocation,
    Alternative,
    Calendar,
    Pause,
    Reservation,
    SizeChange,
    Snapshot,
    WaitingJob,
)
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start
from headway.policy import Policy, Team
from headway.refusals import PROBES_APART_MS, Cause, FailedLaunches, is_unlaunchable, retry_ms
from headway.refusals.probing import MAX_RETRY_MS
from headway.scheduling.invariants import check_plan
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.probes import Probes, launchable
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, preemptions, reason_of, snapshot, starts, warm
from tests.core.scheduling.builders import HOUR_MS, refused
from tests.core.strategies import snapshots


def probes_of(shot: Snapshot) -> Probes:
    """The unlaunchable jobs of a decision that has not decided anything yet."""
    return PassState(shot, explain=False).probes


def started_on(plan: Plan) -> list[dict[str, int]]:
    """The instances of each start."""
    return [dict(action.demand) for action in plan.actions if isinstance(action, Start)]


def test_no_job_is_preempted_for_one_that_is_unlaunchable() -> None:
    plan = schedule(snapshot(held("x"), refused("a", 9), size=1))
    assert not plan.actions


def test_it_reclaims_no_guarantee() -> None:
    policy = Policy(teams={"a": Team(guaranteed={P5: 1}), "b": Team()})
    plan = schedule(snapshot(held("x", team="b"), refused("a", 0, team="a"), size=1, policy=policy))
    assert not plan.actions


def test_what_is_reserved_for_it_is_released_for_others() -> None:
    shot = snapshot(refused("a", 9, count=2, ago_ms=0), job("small"), size=2)
    shot = replace(shot, reservations=(Reservation(job="a", demand={P5: 2}),))
    assert [type(each) for each in schedule(shot).actions] == [Release, Start]
    assert starts(schedule(shot)) == ["small"]


def test_jobs_behind_it_start_and_are_not_told_to_wait_for_it() -> None:
    shot = snapshot(held("x", ends_in_s=3600), refused("a", 9, count=2), job("b", 5), job("c", 1), size=2)
    plan = schedule(shot)
    assert starts(plan) == ["b"]
    waits = {wait.job: wait for wait in plan.waits}
    assert "`a`" not in waits["c"].reason.message
    assert waits["c"].ahead == 0


def test_jobs_that_are_unlaunchable_take_no_part_of_the_backfill_window() -> None:
    hidden = [refused(f"u{number}", 8, ago_ms=0) for number in range(3)]
    running, head = held("x", 9, count=3, ends_in_s=3600), job("head", 9, count=4, limit_s=60)
    shot = snapshot(running, head, *hidden, job("small", 1, limit_s=60), size=4, policy=Policy(backfill_window=2))
    assert starts(schedule(shot)) == ["small"]
    plan = schedule(replace(shot, policy=Policy(backfill_window=1)))
    assert {wait.job for wait in plan.waits} >= {each.name for each in hidden}, "each has a reason nevertheless"


def test_its_reason_has_the_answer_the_next_try_and_who_can_change_it() -> None:
    plan = schedule(snapshot(refused("a", ago_ms=1000), size=1))
    assert reason_of(plan, "a") == (
        "its last 3 launches in a row on 1 ml.p5.48xlarge got no instances: it is denied (AccessDenied: no); it keeps "
        "its place, no other job waits for it, and it is tried again from 00:17 UTC on, when that many are free; an "
        "administrator of the account can allow it, or its owner change the request, and `headway hold a`, then "
        "`headway release a`, tries it at once"
    )


@pytest.mark.parametrize("ago_ms", [0, 39_999, 40_000])
def test_it_is_tried_again_when_its_wait_is_over(ago_ms: int) -> None:
    assert starts(schedule(snapshot(refused("a", ago_ms=ago_ms), size=1))) == (["a"] if ago_ms >= 40_000 else [])


def test_it_is_tried_on_what_no_other_job_can_use() -> None:
    idle: dict[str, Any] = {"cause": Cause.CAPACITY, "idled_ms": 10 * HOUR_MS}
    plan = schedule(snapshot(refused("a", 9, **idle), job("b"), size=1))
    assert starts(plan) == ["b"]
    (start,) = [each for each in schedule(snapshot(refused("a", 9, **idle), size=1)).actions if isinstance(each, Start)]
    assert start.on_leftovers


def test_one_is_tried_at_a_time_the_one_that_was_not_tried_for_longest() -> None:
    jobs = [refused("a", 9, ago_ms=MAX_RETRY_MS), refused("b", 1, ago_ms=2 * MAX_RETRY_MS), refused("c", 5)]
    assert starts(schedule(snapshot(*jobs, size=3))) == ["b"]
    late = refused("d", 9, ago_ms=PROBES_APART_MS - 1)
    assert starts(schedule(snapshot(*jobs, late, size=3))) == [], "another one has just failed"


@pytest.mark.parametrize(
    ("beside", "first"),
    [
        ((), "costly"),
        ((job("too-large", count=9),), "costly"),
        # The one with a place comes first where others could want the instances, and where these do not suffice.
        ((replace(job("waits"), not_before_ms=NOW_MS + 1),), "cheap"),
        ((held("x", 9, count=2),), "cheap"),
    ],
)
def test_one_that_has_kept_too_much_has_its_turn_on_what_nobody_else_waits_for(
    beside: tuple[Any, ...], first: str
) -> None:
    costly = refused("costly", count=2, ago_ms=2 * HOUR_MS, idled_ms=HOUR_MS)
    cheap = refused("cheap", count=1, ago_ms=HOUR_MS)
    queue = snapshot(costly, cheap, *beside, size=3)
    assert not probes_of(queue)._can_use_place(costly)
    assert starts(schedule(queue)) == [first]
    # The other one has its turn after that.
    later = refused("costly", count=2, ago_ms=HOUR_MS // 2, idled_ms=HOUR_MS)
    assert starts(schedule(replace(queue, waiting=(later, cheap)))) == ["cheap"]


@pytest.mark.parametrize(("limit_s", "first"), [(7200, "costly"), (600, "cheap")], ids=["never", "now"])
def test_one_that_outlasts_a_pool_for_ever_does_not_wait_for_it(limit_s: int, first: str) -> None:
    """Found by a soak run: a job that was too long for the rest of a training plan kept another one from its turn."""
    costly = refused("costly", count=2, ago_ms=2 * HOUR_MS, idled_ms=HOUR_MS, limit_s=600)
    cheap = refused("cheap", count=1, ago_ms=HOUR_MS, limit_s=600)
    waits = replace(job("waits", limit_s=limit_s), not_before_ms=NOW_MS + 1)
    shrinks = Calendar(changes=(SizeChange(at_ms=NOW_MS + HOUR_MS, size=0),))
    queue = replace(snapshot(costly, cheap, waits, size=3), calendars={P5: shrinks})
    assert starts(schedule(queue)) == [first]


COSTLY: dict[str, Any] = {"ago_ms": 2 * HOUR_MS, "idled_ms": HOUR_MS}


@pytest.mark.parametrize(
    "costly",
    [
        # It is decided on its other alternative, which it waits for.
        replace(refused("costly", 1, limit_s=600, **COSTLY), alternatives=(Alternative(demand={G5: 1}),)),
        refused("costly", 1, limit_s=7200, **COSTLY),
        refused("costly", 1, limit_s=600, ml_g5_xlarge=1, **COSTLY),
    ],
    ids=["not unlaunchable elsewhere", "outlasts the pool", "another one was just tried in its other pool"],
)
def test_one_that_cannot_be_tried_on_what_nobody_waits_for_takes_the_place_of_no_other(costly: WaitingJob) -> None:
    cheap = refused("cheap", 9, ago_ms=HOUR_MS, limit_s=600, ml_p4d_24xlarge=1)
    recent = refused("recent", 1, ago_ms=0, pool=G5)
    others = (job("wants-p4d", pool="ml.p4d.24xlarge"),)
    queue = snapshot(costly, cheap, recent, *others, pools={P5: 1, G5: 1, "ml.p4d.24xlarge": 1})
    shrinks = Calendar(changes=(SizeChange(at_ms=NOW_MS + HOUR_MS, size=0),))
    queue = replace(queue, calendars={P5: shrinks})
    probes = probes_of(queue)
    assert not probes._can_use_place(costly)
    assert probes.has_place(cheap)
    assert "cheap" in starts(schedule(queue))


@pytest.mark.parametrize(("ago_ms", "reserves"), [(19 * HOUR_MS, False), (20 * HOUR_MS, True)])
def test_it_gets_a_reserved_start_once_that_is_a_small_part_of_its_wait(ago_ms: int, reserves: bool) -> None:
    shot = snapshot(
        held("x", ends_in_s=3600), refused("big", 9, count=2, ago_ms=ago_ms), job("b", limit_s=7200), size=2
    )
    assert starts(schedule(shot)) == ([] if reserves else ["b"])


@pytest.mark.parametrize(("short_ms", "reserves"), [(1, False), (0, True)])
def test_what_is_kept_until_the_decision_that_tries_it_counts_after_another_try(short_ms: int, reserves: bool) -> None:
    # Two share 5 % of the time.
    ago_ms = 40 * (PROBES_APART_MS + LATE_MS) - short_ms
    shot = snapshot(refused("failed", ago_ms=0), refused("a", 9, ago_ms=ago_ms), job("b"), size=1)
    assert starts(schedule(shot)) == ([] if reserves else ["b"])


def test_what_its_last_try_kept_idle_counts_and_unlaunchable_jobs_share() -> None:
    def has_place(*jobs: WaitingJob) -> bool:
        return probes_of(snapshot(*jobs, size=2)).has_place(jobs[0])

    assert has_place(refused("a", count=2, idled_ms=HOUR_MS, ago_ms=20 * HOUR_MS))
    assert not has_place(refused("a", count=2, idled_ms=HOUR_MS + 1, ago_ms=20 * HOUR_MS))
    assert has_place(refused("a", count=1, idled_ms=2 * HOUR_MS, ago_ms=20 * HOUR_MS)), "half of the pool"
    assert not has_place(refused("a", count=2, idled_ms=HOUR_MS, ago_ms=20 * HOUR_MS), refused("b", ago_ms=0))


@pytest.mark.parametrize(
    "other",
    [
        refused("other", 1, ago_ms=20 * HOUR_MS, count=9),
        refused("other", 1, ago_ms=20 * HOUR_MS, count=2, team="limited"),
        refused("other", 1, ago_ms=2 * HOUR_MS, count=2),
        refused("other", 1, ago_ms=20 * HOUR_MS, ml_p4d_24xlarge=1),
    ],
    ids=["too large", "a limit of its team", "a start that is too far away", "a pool that is paused"],
)
def test_nobody_waits_for_the_turn_of_one_that_cannot_be_tried(other: WaitingJob) -> None:
    paused = "ml.p4d.24xlarge"
    shot = snapshot(
        held("x", ends_in_s=5 * 86_400),
        other,
        refused("fits", 9, ago_ms=HOUR_MS),
        job("b", 5),
        pools={P5: 2, paused: 1},
        policy=Policy(teams={"limited": Team(limit={P5: 1})}),
    )
    assert starts(schedule(replace(shot, pauses={paused: Pause(by="a", since_ms=0, reason="")}))) == ["fits"]


def test_only_a_job_whose_wait_is_over_has_a_place() -> None:
    jobs = [refused("later", 9, tries=9, ago_ms=MAX_RETRY_MS - 1), refused("due", 9, ago_ms=MAX_RETRY_MS // 2)]
    assert starts(schedule(snapshot(*jobs, job("b"), size=1))) == ["due"]


@pytest.mark.parametrize(
    ("running", "has_place"),
    [
        (held("x", ends_in_s=1800), True),
        (held("x", ends_in_s=1801), False),
        (held("x"), False),
        (held("x", stopping=True), True),
        (held("x", ends_in_s=-1), False),
    ],
    ids=["ends in time", "too late", "no limit", "is stopping", "beyond its limit"],
)
def test_it_has_a_place_if_what_it_needs_is_free_within_its_part_of_the_time(
    running: Allocation, has_place: bool
) -> None:
    waits = refused("a", ago_ms=10 * HOUR_MS)
    assert probes_of(snapshot(running, waits, size=1)).has_place(waits) is has_place


def test_it_has_a_place_only_if_its_turn_has_come_in_all_its_pools() -> None:
    other, both = refused("other", ago_ms=20 * HOUR_MS), refused("both", ago_ms=10 * HOUR_MS, ml_g5_xlarge=1)
    assert not probes_of(snapshot(other, both, pools={P5: 2, G5: 1})).has_place(both)
    assert probes_of(snapshot(both, pools={P5: 2, G5: 1})).has_place(both)


@pytest.mark.parametrize(("ends_in_s", "has_place"), [(1800, True), (1801, False)])
def test_it_has_a_place_if_its_team_is_below_its_limit_in_time(ends_in_s: int, has_place: bool) -> None:
    waits = refused("a", ago_ms=10 * HOUR_MS, team="limited")
    policy = Policy(teams={"limited": Team(limit={P5: 1})})
    shot = snapshot(held("x", ends_in_s=ends_in_s, team="limited"), waits, size=2, policy=policy)
    assert probes_of(shot).has_place(waits) is has_place
    others = snapshot(held("x", ends_in_s=ends_in_s), waits, size=2, policy=policy)
    assert probes_of(others).has_place(waits)


# A simulation keeps the changes of sizes that are past: the pool has shrunk since.
@pytest.mark.parametrize(("after_s", "has_place"), [(1800, True), (1801, False), (0, True), (-1, False)])
def test_it_has_a_place_if_its_pool_grows_in_time(after_s: int, has_place: bool) -> None:
    waits = refused("a", ago_ms=10 * HOUR_MS)
    grows = Calendar(changes=(SizeChange(at_ms=NOW_MS + after_s * 1000, size=2),))
    shot = replace(snapshot(held("x"), waits, size=1), calendars={P5: grows})
    assert probes_of(shot).has_place(waits) is has_place


def test_a_job_that_can_start_on_another_alternative_is_not_tried() -> None:
    flexible = replace(refused("a"), alternatives=(Alternative(demand={G5: 1}),))
    assert started_on(schedule(snapshot(flexible, pools={P5: 1, G5: 1}))) == [{G5: 1}]


def test_on_leftovers_it_is_tried_where_it_may_be_first() -> None:
    long_ago = refused("a", ago_ms=2 * MAX_RETRY_MS, idled_ms=10 * HOUR_MS, pool=G5)
    flexible = refused("a", idled_ms=10 * HOUR_MS)
    flexible = replace(flexible, alternatives=(Alternative(demand={G5: 1}, failed=long_ago.failed),))
    plan = schedule(snapshot(flexible, pools={P5: 1, G5: 1}))
    assert started_on(plan) == [{G5: 1}]
    assert [each.on_leftovers for each in plan.actions if isinstance(each, Start)] == [True]


def test_it_may_start_in_a_warm_pool_at_its_place() -> None:
    shot = snapshot(warm("v", ends_in_s=36_000), refused("a", 9, warm_key="k"), job("b", warm_key="k"), size=1)
    assert starts(schedule(shot)) == ["a"]


@pytest.mark.parametrize(
    ("kept_s", "limit_s", "begins"),
    [(36_000, None, ["b"]), (1800, None, []), (1800, 1800, ["b"]), (1800, 1801, [])],
    ids=["kept for longer than its part", "kept for its part", "gone before it may start", "still running then"],
)
def test_it_waits_for_the_end_of_a_warm_pool_that_it_cannot_use(
    kept_s: int, limit_s: int | None, begins: list[str]
) -> None:
    """Nobody releases one for it, so a start that counts on that would keep others waiting for ever."""
    waits = refused("a", 9, ago_ms=10 * HOUR_MS)
    shot = snapshot(warm("v", ends_in_s=kept_s), waits, job("b", warm_key="k", limit_s=limit_s), size=1)
    assert starts(schedule(shot)) == begins
    assert not [each for each in schedule(shot).actions if isinstance(each, ReleaseWarm)]


@pytest.mark.parametrize(("kept_s", "has_place"), [(1800, True), (1801, False)])
def test_it_has_a_place_if_a_warm_pool_that_it_cannot_use_is_gone_in_time(kept_s: int, has_place: bool) -> None:
    waits = refused("a", ago_ms=10 * HOUR_MS)
    assert probes_of(snapshot(warm("v", ends_in_s=kept_s), waits, size=1)).has_place(waits) is has_place


def test_a_warm_pool_that_it_may_start_in_is_kept_for_its_place() -> None:
    """As a free instance is, until the try of another job in its pool is long enough ago."""
    waits = refused("a", 9, ago_ms=10 * HOUR_MS, warm_key="k")
    other = refused("other", 1, ago_ms=PROBES_APART_MS - 9000)
    shot = snapshot(warm("v", ends_in_s=36_000), waits, other, job("b"), job("c", warm_key="k"), size=1)
    assert schedule(shot).actions == ()
    assert schedule(replace(shot, waiting=shot.waiting[1:])).actions, "without it, others get it"


@pytest.mark.parametrize(
    ("keep_ms", "key", "has_place"),
    [(0, "", True), (1, "", False), (1, "k", True)],
    ids=["leaves none", "leaves one", "leaves one that it may start in"],
)
def test_it_has_a_place_if_the_warm_pool_that_an_attempt_may_leave_is_gone_in_time(
    keep_ms: int, key: str, has_place: bool
) -> None:
    waits = refused("a", ago_ms=10 * HOUR_MS, warm_key=key)
    running = changed(held("x", ends_in_s=1800), keep_ms=keep_ms, warm_key="k")
    assert probes_of(snapshot(running, waits, size=1)).has_place(waits) is has_place


def test_its_place_is_told_as_that_of_any_job() -> None:
    ahead, behind = job("ahead", 9), job("behind", 0)
    plan = schedule(snapshot(held("x", 9), ahead, refused("a", 5, ago_ms=0), behind, size=1))
    assert {each.job: each.ahead for each in plan.waits} == {"ahead": 0, "a": 1, "behind": 1}


def test_it_is_not_tried_while_its_pool_backs_off() -> None:
    held_back = replace(refused("a"), not_before_ms=NOW_MS + 5000)
    assert probes_of(snapshot(held_back, size=1)).next_ms(held_back) == NOW_MS + 5000


def test_a_try_on_leftovers_pays_for_none_of_the_tries_before_it() -> None:
    tried = refused("a", 9, idled_ms=0)
    assert tried.failed is not None
    since_ms = NOW_MS - 10 * HOUR_MS
    for idled_ms, begins in ((HOUR_MS // 2, ["a"]), (HOUR_MS // 2 + 1, ["b"])):
        failed = replace(tried.failed, since_ms=since_ms, idled_before_ms=idled_ms)
        assert starts(schedule(snapshot(replace(tried, failed=failed), job("b"), size=1))) == begins


def test_a_launch_without_an_answer_is_repeated_at_others_expense_only_as_far_as_it_may() -> None:
    row: dict[str, Any] = {"cause": Cause.UNANSWERED, "idled_ms": HOUR_MS}
    assert starts(schedule(snapshot(refused("a", **row), size=1))) == []
    assert starts(schedule(snapshot(refused("a", **{**row, "tries": 1}), size=1))) == ["a"]
    assert starts(schedule(snapshot(refused("a", ago_ms=20 * HOUR_MS, **row), size=1))) == ["a"]


def test_a_job_runs_on_an_alternative_on_which_it_is_not_unlaunchable() -> None:
    flexible = replace(refused("a", ago_ms=0), alternatives=(Alternative(demand={G5: 1}),))
    shot = snapshot(flexible, pools={P5: 1, G5: 1})
    assert started_on(schedule(shot)) == [{G5: 1}]
    full = snapshot(held("x", pool=G5), flexible, pools={P5: 1, G5: 1})
    assert [type(each) for each in schedule(full).actions] == [Preempt], "there it is a job as any other"


def test_the_next_try_of_a_job_is_on_the_alternative_that_was_not_tried_for_longest() -> None:
    other = refused("a", ago_ms=2 * MAX_RETRY_MS, pool=G5)
    flexible = replace(refused("a"), alternatives=(Alternative(demand={G5: 1}, failed=other.failed),))
    shot = snapshot(flexible, pools={P5: 1, G5: 1})
    assert started_on(schedule(shot)) == [{G5: 1}]


def test_an_alternative_that_is_unlikely_to_get_spot_instances_is_tried_rather_than_one_that_is_refused() -> None:
    flexible = replace(refused("a", ago_ms=0), alternatives=(Alternative(demand={f"{G5}.spot": 1}),))
    shot = snapshot(flexible, pools={P5: 1, f"{G5}.spot": 1}, policy=Policy(min_spot_score=5))
    shot = replace(shot, spot_scores={(f"{G5}.spot", 1): 1})
    assert started_on(schedule(shot)) == [{f"{G5}.spot": 1}]


def test_a_forecast_is_made_without_it() -> None:
    flexible = replace(refused("f"), alternatives=(Alternative(demand={G5: 1}), Alternative(demand={"c": 1})))
    shot = launchable(snapshot(refused("a"), job("b"), flexible, pools={P5: 1, G5: 1, "c": 1}))
    assert [(each.name, dict(each.demand), len(each.alternatives)) for each in shot.waiting] == [
        ("b", {P5: 1}, 0),
        ("f", {G5: 1}, 1),
    ]


def test_an_attempt_without_instances_gives_way_to_each_job_that_can_use_them() -> None:
    lacking = changed(held("big", count=2, priority=9), lacks_instances=True, preemptible=False)
    shot = snapshot(lacking, job("small", 0), size=2)
    plan = schedule(shot)
    check_plan(shot, plan)
    assert preemptions(plan) == [("big", "small")]
    (action,) = plan.actions
    assert isinstance(action, Preempt)
    assert action.reason.code == "NoInstances"
    assert not schedule(snapshot(lacking, refused("a", 9), size=2)).actions, "that would only change who has none"
    assert not schedule(snapshot(lacking, job("large", 9, count=3), size=2)).actions


def test_attempts_without_instances_give_way_in_both_pools_of_a_job() -> None:
    lacking = [replace(held(f"x{pool}", pool=pool), lacks_instances=True) for pool in (P5, G5)]
    shot = snapshot(*lacking, job("a", ml_g5_xlarge=1), pools={P5: 1, G5: 1})
    plan = schedule(shot)
    check_plan(shot, plan)
    assert {victim for victim, _ in preemptions(plan)} == {each.job for each in lacking}
    used = [replace(each, lacks_instances=False) for each in lacking]
    assert not schedule(replace(shot, allocations=tuple(used))).actions, "running ones do not"


rows = st.builds(
    FailedLaunches,
    count=st.integers(1, 9),
    since_ms=st.integers(0, 9_000_000),
    last_ms=st.integers(9_000_000, 10_000_000),
    idled_ms=st.sampled_from([0, 60_000, 3_600_000]),
    cause=st.sampled_from(Cause),
    by_request_since_ms=st.none() | st.just(0),
)


@st.composite
def with_refusals(draw: st.DrawFn) -> Snapshot:
    """A snapshot in which some launches of some jobs got no instances."""
    shot = draw(snapshots())
    return replace(shot, waiting=tuple(replace(each, failed=draw(st.none() | rows)) for each in shot.waiting))


def acts_for(shot: Snapshot, names: set[str]) -> set[tuple[str, ...]]:
    """What a decision does for some jobs."""
    found: set[tuple[str, ...]] = set()
    for action in schedule(shot).actions:
        subject = str(getattr(action, "for_job", action.job))
        if subject in names:
            found.add((type(action).__name__, action.job, subject))
    return found


@given(with_refusals())
def test_others_are_decided_on_as_if_unlaunchable_jobs_that_are_not_tried_were_not_there(shot: Snapshot) -> None:
    barred = {each.name for each in shot.waiting if is_unlaunchable(each.failed, shot.now_ms)}
    assume(barred)
    plan = schedule(shot)
    check_plan(shot, plan)
    tried = {action.job for action in plan.actions if isinstance(action, Start)} & barred
    probes = probes_of(shot)
    in_turn = {each.name for each in shot.waiting if each.name in barred and probes.has_place(each)}
    assume(
        not tried - {each.job for each in plan.actions if isinstance(each, Start) and each.on_leftovers} and not in_turn
    )
    others = {each.name for each in shot.waiting} - barred
    without = replace(
        shot,
        waiting=tuple(each for each in shot.waiting if each.name in others),
        reservations=shot.reservations,
    )
    assert acts_for(shot, others) == acts_for(without, others)


@given(with_refusals())
def test_nothing_is_stopped_or_kept_for_an_unlaunchable_job_and_one_is_tried_in_each_pool(shot: Snapshot) -> None:
    plan = schedule(shot)
    barred = {each.name: each for each in shot.waiting if is_unlaunchable(each.failed, shot.now_ms)}
    assert not [action for action in plan.actions if isinstance(action, Preempt) and action.for_job in barred]
    tried = [action for action in plan.actions if isinstance(action, Start) and action.job in barred]
    pools = [pool for action in tried for pool in action.demand]
    assert len(pools) == len(set(pools))
    for action in tried:
        failed = barred[action.job].failed
        assert failed is not None
        assert retry_ms(failed) <= shot.now_ms
