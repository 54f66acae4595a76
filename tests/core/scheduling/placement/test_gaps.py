"""Which jobs may start in a gap before reserved starts that they would still run into, and when they are stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import LATE_MS, STOP_MS, Allocation, Alternative, WaitingJob
from headway.plan import Plan, Start
from headway.policy import Fill, Policy, Team
from headway.scheduling.placement.gaps import NOTICE_MS
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
    snapshot,
    starts,
    starts_warm,
    warm,
)
from tests.core.scheduling.builders import refused

FILL = Policy(fill=Fill.CHECKPOINTING)
HOUR_S = 3600
LONG = held("long", 5, ends_in_s=HOUR_S)
"""Holds one of two instances for an hour."""


def head(**more: Any) -> WaitingJob:
    """A job that needs both instances, so that it starts in an hour."""
    return job("head", 5, count=2, limit_s=HOUR_S, **more)


def filler(limit_s: int | None = 9 * HOUR_S, **more: Any) -> WaitingJob:
    """A job behind it that fits on the other one, and writes checkpoints."""
    return changed(job("filler", 5, entered=1, limit_s=limit_s), **{"checkpoints": True, **more})


def opportunistic(plan: Plan) -> list[str]:
    """The jobs that start in a gap."""
    return [each.job for each in plan.actions if isinstance(each, Start) and each.opportunistic]


@pytest.mark.parametrize(
    ("policy", "parts", "starts_now"),
    [
        (FILL, (LONG, head(), filler()), True),
        (FILL, (LONG, head(), filler(limit_s=None)), True),
        (FILL, (LONG, head(), filler(limit_s=HOUR_S + 121)), True),
        (FILL, (LONG, head(), filler(limit_s=HOUR_S + 120)), False),
        (Policy(), (LONG, head(), filler()), False),
        (FILL, (LONG, head(), filler(checkpoints=False)), False),
        (FILL, (LONG, head(), filler(preemptible=False)), False),
        (FILL, (LONG, head(), filler(preemptions=10)), False),
        (replace(FILL, min_run_time_ms=3_420_000), (LONG, head(), filler()), True),
        (replace(FILL, min_run_time_ms=3_420_001), (LONG, head(), filler()), False),
        # It needs five minutes to start, one checkpoint of ten minutes and one to upload it; the notice is of three.
        (FILL, (held("long", 5, ends_in_s=1140), head(), filler()), True),
        (FILL, (held("long", 5, ends_in_s=1139), head(), filler()), False),
        (replace(FILL, checkpoint_interval_ms=0), (held("long", 5, ends_in_s=540), head(), filler()), True),
        (FILL, (held("long", 5, ends_in_s=1799), head(), filler(checkpoints_every_ms=1_260_000)), False),
        (FILL, (held("long", 5, ends_in_s=1800), head(), filler(checkpoints_every_ms=1_260_000)), True),
        # When the first one starts is not known, so what it needs is kept for it.
        (FILL, (held("long", 5), head(), filler()), False),
        # It would be stopped for nobody.
        (FILL, (LONG, head(preempts=False), filler()), False),
        (FILL, (LONG, changed(refused("head", count=2, ago_ms=10**8), limit_ms=HOUR_S * 1000), filler()), False),
    ],
    ids=[
        "a gap of an hour",
        "without a limit",
        "a limit behind it",
        "a limit that a stop would not come before",
        "not by default",
        "without checkpoints",
        "not preemptible",
        "preempted too often",
        "protected until the notice",
        "protected for longer",
        "time for one checkpoint",
        "no time for one",
        "checkpoints at any time",
        "an own interval",
        "time for an own interval",
        "an unknown start",
        "a head that preempts nobody",
        "a head that is not launched",
    ],
)
def test_a_job_fills_a_gap_if_it_can_be_stopped_in_time_and_gets_something_done(
    policy: Policy, parts: tuple[Any, ...], *, starts_now: bool
) -> None:
    plan = schedule(snapshot(*parts, policy=policy))
    assert opportunistic(plan) == ["filler"] * starts_now
    assert starts(plan) == opportunistic(plan)


def test_a_decision_without_reasons_fills_the_same_gaps() -> None:
    queue = snapshot(LONG, head(), filler(), policy=FILL)
    assert schedule(queue, explain=False).actions == schedule(queue).actions


def test_a_job_that_delays_nobody_is_not_stopped_for_anybody() -> None:
    plan = schedule(snapshot(LONG, head(), filler(limit_s=HOUR_S), policy=FILL))
    assert starts(plan) == ["filler"]
    assert not opportunistic(plan)


def test_its_start_says_that_it_fills_a_gap() -> None:
    (start,) = schedule(snapshot(LONG, head(), filler(), policy=FILL)).actions
    expected = f"started on 1 {P5}; it fills a gap before other jobs, so it is stopped when one of them can start"
    assert start.reason.message == expected


def test_one_may_fill_a_gap_in_a_warm_pool() -> None:
    pool, matching = warm("w", ends_in_s=HOUR_S), filler(warm_key="k")
    plan = schedule(snapshot(LONG, pool, head(), matching, policy=FILL))
    assert (starts_warm(plan), opportunistic(plan)) == ([("filler", "w")], ["filler"])


def test_none_fills_a_gap_while_a_warm_pool_of_another_team_has_to_go_first() -> None:
    policy = replace(FILL, warm_across_teams=False, teams={"a": Team(), "b": Team()})
    pool, matching = warm("w", team="b", ends_in_s=HOUR_S), filler(warm_key="k", team="a")
    parts = (LONG, pool, job("head", 5, count=3, limit_s=HOUR_S, team="a"), matching)
    assert not schedule(snapshot(*parts, size=3, policy=policy)).actions


def test_one_may_fill_a_gap_on_an_alternative() -> None:
    other = "ml.p4d.24xlarge"
    may_choose = replace(filler(), demand={other: 1}, alternatives=(Alternative(demand={P5: 1}, limit_ms=10**9),))
    plan = schedule(snapshot(LONG, held("y", 9, pool=other), head(), may_choose, pools={P5: 2, other: 1}, policy=FILL))
    assert opportunistic(plan) == ["filler"]


@pytest.mark.parametrize(
    ("guaranteed", "starts_now"),
    [({}, True), ({P5: 2}, True), ({P5: 3}, False)],
    ids=["of a team without a guarantee", "of one that borrows", "within a guarantee"],
)
def test_a_job_fills_a_gap_only_if_its_team_could_not_reclaim_it(
    guaranteed: dict[str, int], *, starts_now: bool
) -> None:
    """The pool is smaller than the guarantees, so that a job within one waits at all."""
    teams = {"a": Team(guaranteed={P5: 2}), "b": Team(guaranteed=guaranteed)}
    other = held("other", 5, count=2, team="b", preemptible=False)
    parts = (changed(LONG, preemptible=False), other, changed(head(team="a"), priority=6))
    plan = schedule(snapshot(*parts, filler(team="b"), size=4, policy=replace(FILL, teams=teams)))
    assert opportunistic(plan) == ["filler"] * starts_now


FILLING = replace(changed(held("filler", 5, entered=1), checkpoints=True), opportunistic=True)
"""The filler, once it runs."""


@pytest.mark.parametrize(
    ("left_s", "stopped", "delayed_ms"),
    [(181, [], 1000), (180, [("filler", "head")], None), (60, [("filler", "head")], None)],
)
def test_a_gap_is_cleared_in_time_for_the_reserved_start(
    left_s: int, stopped: list[tuple[str, str]], delayed_ms: int | None
) -> None:
    assert NOTICE_MS == STOP_MS + LATE_MS == 180_000
    plan = schedule(snapshot(held("long", 5, ends_in_s=left_s), FILLING, head(), policy=FILL))
    assert preemptions(plan) == stopped
    assert [each.at_ms - NOW_MS for each in plan.delayed] == [delayed_ms] * (delayed_ms is not None)
    assert code_of(plan, "head") == "WaitsForCapacity"


def test_what_a_cleared_gap_frees_is_kept_for_the_first_job() -> None:
    parts = (held("long", 5, ends_in_s=100), FILLING, head(), job("late", 5, entered=2, limit_s=1))
    (action,) = schedule(snapshot(*parts, policy=FILL)).actions
    assert (action.job, dict(getattr(action, "freed", {}))) == ("filler", {P5: 1})
    assert "filled a gap" in action.reason.message


def test_no_more_is_kept_for_it_than_it_needs() -> None:
    """The pool was made smaller than its use, which has to be freed as well."""
    large = replace(FILLING, demand={P5: 2})
    parts = (held("long", 5, ends_in_s=100), large, replace(head(), demand={P5: 1}))
    (action,) = schedule(snapshot(*parts, size=1, policy=FILL)).actions
    assert (action.job, dict(getattr(action, "freed", {}))) == ("filler", {P5: 1})


def test_a_gap_is_cleared_in_time_also_for_a_job_that_may_wait_for_checkpoints() -> None:
    policy = replace(FILL, wait_for_checkpoint_ms=3_600_000)
    filling = changed(FILLING, entry_time_ms=NOW_MS + 1)
    parts = (held("long", 5, ends_in_s=100), filling, changed(head(), entry_time_ms=NOW_MS))
    assert preemptions(schedule(snapshot(*parts, policy=policy))) == [("filler", "head")]


def test_a_gap_is_cleared_no_sooner_than_its_attempts_may_be_stopped() -> None:
    policy = replace(FILL, min_run_time_ms=1_100_000)
    parts = (held("long", 5, ends_in_s=200), FILLING, head())
    plan = schedule(snapshot(*parts, policy=policy))
    assert not preemptions(plan)
    # The stop after that takes two minutes, so the start that is told is later.
    assert plan.waits[0].start_by_ms == 1_100_000 + STOP_MS
    (later,) = plan.delayed
    assert later.at_ms == 1_100_000


def test_the_first_job_is_told_who_is_in_the_gap_before_it() -> None:
    plan = schedule(snapshot(LONG, FILLING, head(), policy=FILL))
    assert "`filler` (priority 5, opportunistic, without a time limit)" in reason_of(plan, "head")
    assert plan.waits[0].start_by_ms == NOW_MS + HOUR_S * 1000


def test_no_other_attempt_is_stopped_before_the_job_fits() -> None:
    parts = (held("long", 5, ends_in_s=100), held("low", 1), head())
    assert not preemptions(schedule(snapshot(*parts, policy=FILL)))


@pytest.mark.parametrize(
    ("waiting", "stopped"),
    [
        (job("first", 5, entered=0), True),
        (job("behind", 5, entered=2), False),
        (job("high", 6, entered=2), True),
        (job("low", 4), False),
        (job("large", 9, count=3), False),
        (job("patient", 5, preempts=False), False),
    ],
    ids=["a turn before it", "behind it", "a higher priority", "a lower one", "too large", "preempts nobody"],
)
def test_without_a_gap_it_gives_way_only_to_jobs_that_rank_before_its_own(
    waiting: WaitingJob, *, stopped: bool
) -> None:
    """No job ahead relies on its end any more, so its job would take back what others got of it."""
    plan = schedule(snapshot(held("x", 9), FILLING, waiting, policy=FILL))
    assert preemptions(plan) == [("filler", waiting.name)] * stopped


@pytest.mark.parametrize(
    ("limit_s", "stopped"), [(HOUR_S - 180, True), (HOUR_S - 179, False), (None, False)],
    ids=["it has ended by then", "not for sure", "not at all"],
)  # fmt: skip
def test_behind_a_reserved_start_only_to_jobs_that_have_ended_by_then(limit_s: int | None, *, stopped: bool) -> None:
    """The stop takes two minutes, and a decision may be a minute late."""
    for others in ((), (job("longer", 5, entered=1, limit_s=2 * HOUR_S), job("endless", 5, entered=1))):
        parts = (LONG, FILLING, head(), *others, job("behind", 5, entered=2, limit_s=limit_s))
        plan = schedule(snapshot(*parts, policy=FILL))
        assert preemptions(plan) == [("filler", "behind")] * stopped


@pytest.mark.parametrize(
    ("other", "stopped"),
    [
        (replace(FILLING, job="x", attempt="x"), [("filler", "behind"), ("x", "behind")]),
        (held("low", 1), []),
        (held("gone", 5, stopping=True), []),
    ],
    ids=["another one in the gap", "one of lower priority", "one that is stopping"],
)
def test_a_start_after_other_stops_is_not_proven(other: Allocation, stopped: list[tuple[str, str]]) -> None:
    parts = (LONG, FILLING, other, replace(head(), demand={P5: 3}), job("behind", 5, entered=2, count=2, limit_s=60))
    assert sorted(preemptions(schedule(snapshot(*parts, size=3, policy=FILL)))) == stopped


def test_a_job_that_writes_checkpoints_itself_does_not_take_the_place_of_another_one() -> None:
    other = replace(changed(filler(), entry_time_ms=0), name="other")
    assert not schedule(snapshot(LONG, FILLING, head(), other, policy=FILL)).actions


def test_gaps_are_filled_only_by_decisions_that_have_nothing_else_to_do() -> None:
    parts = (LONG, head(), filler(), job("short", 5, entered=9, limit_s=1))
    plan = schedule(snapshot(*parts, policy=FILL))
    assert (starts(plan), opportunistic(plan)) == (["short"], [])


def test_also_if_it_started_before_the_policy_changed() -> None:
    assert preemptions(schedule(snapshot(held("x", 9), FILLING, job("first", 5)))) == [("filler", "first")]


def test_its_stop_waits_for_no_checkpoint() -> None:
    policy = replace(FILL, checkpoints_every_ms=600_000, wait_for_checkpoint_ms=3_600_000)
    plan = schedule(snapshot(held("x", 9), FILLING, job("first", 5, entered=0), policy=policy))
    assert preemptions(plan) == [("filler", "first")]


def test_the_reason_of_a_job_says_if_checkpoints_would_let_it_start() -> None:
    plan = schedule(snapshot(LONG, head(), filler(checkpoints=False), policy=FILL))
    hint = "with checkpoints (CheckpointConfig) it could start now, and be stopped in time for that job"
    assert hint in reason_of(plan, "filler")
    for policy, more in ((Policy(), {}), (FILL, {"preemptible": False})):
        plan = schedule(snapshot(LONG, head(), filler(checkpoints=False, **more), policy=policy))
        assert hint not in reason_of(plan, "filler")


def test_when_a_job_that_clears_a_gap_has_ended_is_known() -> None:
    """It does not wait for a stop, so the start of the job behind it is known as well."""
    policy = replace(FILL, reserved_heads=2)
    for in_gap, second_ms in ((FILLING, NOW_MS + 2 * HOUR_S * 1000), (held("low", 1), None)):
        line = (head(), changed(job("next", 5, entered=2, count=2), limit_ms=9 * HOUR_S * 1000))
        plan = schedule(snapshot(LONG, in_gap, *line, policy=policy))
        assert [wait.start_by_ms for wait in plan.waits] == [NOW_MS + HOUR_S * 1000, second_ms]


@pytest.mark.parametrize("by_priority", [False, True], ids=["of a gap", "of lower priority"])
def test_what_a_job_counts_on_beside_a_cleared_gap_stays_its_own(*, by_priority: bool) -> None:
    """It ends before the reserved start. Otherwise the next decision would fill the rest of the gap."""
    stopping = replace(FILLING, stopping=True, freed_for="mine", freed={P5: 1}, opportunistic=not by_priority)
    mine = job("mine", 5, entered=2, count=2, limit_s=60)
    parts = (held("long", 5, ends_in_s=HOUR_S), stopping, replace(head(), demand={P5: 3}), mine)
    other = replace(changed(filler(), entry_time_ms=3), name="other")
    plan = schedule(snapshot(*parts, other, size=3, policy=FILL))
    assert opportunistic(plan) == ["other"] * by_priority
