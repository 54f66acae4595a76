"""An alternative on spot instances is passed over while its spot placement score is low."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.forecasting.forecast import forecast
from headway.model import Alternative, Pause, Snapshot, WaitingJob
from headway.plan import Plan, Start
from headway.policy import Policy
from headway.scheduling.alternatives import demands
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, preemptions, reason_of, reserved, snapshot, warm
from tests.core.random_snapshots import played, random_snapshot

SPOT = f"{G5}.spot"
POOLS = {P5: 2, G5: 4, SPOT: 4}
LEAST_4 = Policy(min_spot_score=4)


def either(*others: tuple[str, int], first: tuple[str, int] = (SPOT, 4), **more: Any) -> WaitingJob:
    """A job that prefers 4 spot instances to ``others``, each for an hour at most."""
    alternatives = tuple(Alternative(demand={pool: count}, limit_ms=3_600_000) for pool, count in others)
    plain = job("w", 5, entered=NOW_MS, pool=first[0], count=first[1], limit_s=3600, **more)
    return replace(plain, alternatives=alternatives)


def scored(
    *parts: Any, policy: Policy = LEAST_4, scores: Mapping[tuple[str, int], int] | None = None, **more: Any
) -> Snapshot:
    """A snapshot in which 4 spot instances have the score 2."""
    found = snapshot(*parts, pools=POOLS, policy=policy)
    return replace(found, spot_scores={(SPOT, 4): 2} if scores is None else scores, **more)


def started_on(found: Snapshot) -> dict[str, int] | None:
    plan = schedule(found)
    check_plan(found, plan)
    return next((dict(action.demand) for action in plan.actions if isinstance(action, Start)), None)


def started(plan: Plan) -> Start:
    (action,) = plan.actions
    assert isinstance(action, Start)
    return action


@pytest.mark.parametrize(
    ("policy", "scores", "on"),
    [
        (LEAST_4, {(SPOT, 4): 3}, {P5: 1}),
        (LEAST_4, {(SPOT, 4): 4}, {SPOT: 4}),
        (LEAST_4, {}, {SPOT: 4}),
        # The scores of other numbers of instances say nothing.
        (LEAST_4, {(SPOT, 3): 1}, {SPOT: 4}),
        (Policy(), {(SPOT, 4): 1}, {SPOT: 4}),
        (Policy(min_spot_score=1), {(SPOT, 4): 1}, {SPOT: 4}),
        (Policy(min_spot_score=10), {(SPOT, 4): 9}, {P5: 1}),
    ],
)
def test_a_low_score_passes_an_alternative_over(
    policy: Policy, scores: Mapping[tuple[str, int], int], on: dict[str, int]
) -> None:
    assert started_on(scored(either((P5, 1)), policy=policy, scores=scores)) == on


def test_the_reason_of_a_start_says_what_was_passed_over() -> None:
    assert started(schedule(scored(either((P5, 1))))).reason.message == (
        f"started on 1 {P5}; {SPOT} is passed over, as its spot placement score is 2 of 10"
    )


def test_so_does_the_reason_of_a_start_in_a_warm_pool() -> None:
    found = scored(warm("x", pool=P5, count=2), either((SPOT, 4), first=(P5, 2), warm_key="k"))
    assert "is passed over" in started(schedule(found)).reason.message


@pytest.mark.parametrize(
    ("first", "others"), [((SPOT, 4), [(P5, 1)]), ((P5, 1), [(SPOT, 4)])], ids=["first preference", "another one"]
)
def test_the_reason_of_a_wait_says_what_is_passed_over(first: tuple[str, int], others: list[tuple[str, int]]) -> None:
    plan = schedule(scored(held("x", 9, count=2), either(*others, first=first)))
    assert plan.actions == ()
    assert reason_of(plan, "w").startswith(f"needs 1 more {P5}")
    assert reason_of(plan, "w").endswith(f"; {SPOT} is passed over, as its spot placement score is 2 of 10")


def test_only_jobs_with_something_passed_over_say_so() -> None:
    plan = schedule(scored(held("x", 9, count=2), either((P5, 1)), job("p5", 1, pool=P5)))
    assert "passed over" not in reason_of(plan, "p5")


def test_it_is_not_passed_over_if_no_other_alternative_could_ever_be_used() -> None:
    pause = Pause(by="ada", since_ms=0, reason="repair")
    assert started_on(scored(either((P5, 3)))) == {SPOT: 4}
    assert started_on(scored(either(("ml.m5.large", 1)))) == {SPOT: 4}
    assert started_on(scored(either((P5, 1)), pauses={P5: pause})) == {SPOT: 4}
    assert "passed over" not in started(schedule(scored(either((P5, 3))))).reason.message


def test_of_spot_alternatives_that_are_all_unlikely_the_first_is_taken() -> None:
    other = "ml.g6.xlarge.spot"
    found = replace(scored(either((other, 1)), scores={(SPOT, 4): 3, (other, 1): 1}), pools={**POOLS, other: 1})
    assert started_on(found) == {SPOT: 4}


def test_a_job_without_alternatives_waits_for_no_score() -> None:
    assert started_on(scored(either())) == {SPOT: 4}


def test_instances_that_are_reserved_for_it_are_taken_whatever_the_score_is_now() -> None:
    assert started_on(scored(reserved("w", 4, SPOT), either((P5, 1)))) == {SPOT: 4}


def test_attempts_are_stopped_for_it_as_if_it_had_not_what_is_passed_over() -> None:
    found = scored(held("x", 0, count=2), either((P5, 1)))
    plan = schedule(found)
    check_plan(found, plan)
    assert preemptions(plan) == [("x", "w")]


def test_what_runs_on_spot_instances_is_left_alone() -> None:
    found = scored(held("x", 0, pool=SPOT, count=4))
    assert schedule(found).actions == ()


def test_the_forecast_keeps_the_scores() -> None:
    found = scored(held("x", 9, count=2, ends_in_s=600), either((P5, 1)))
    assert forecast(found).starts["w"] == NOW_MS + 600_000
    assert forecast(replace(found, spot_scores={})).starts["w"] == NOW_MS


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=1, max_value=10), st.data())
def test_scores_change_no_plan_of_jobs_without_alternatives(seed: int, least: int, data: st.DataObject) -> None:
    found = random_snapshot(Random(seed))
    waiting = tuple(replace(each, alternatives=()) for each in found.waiting)
    found = replace(found, waiting=waiting)
    scores = {
        (pool, count): data.draw(st.integers(min_value=1, max_value=10))
        for each in waiting
        for pool, count in each.demand.items()
    }
    with_scores = replace(found, spot_scores=scores, policy=replace(found.policy, min_spot_score=least))
    assert schedule(with_scores) == schedule(found)


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=1, max_value=10))
def test_a_least_score_without_scores_changes_no_plan(seed: int, least: int) -> None:
    found = random_snapshot(Random(seed))
    assert schedule(replace(found, policy=replace(found.policy, min_spot_score=least))) == schedule(found)


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=1, max_value=10))
def test_with_scores_every_decision_comes_to_rest_and_everybody_is_served(seed: int, least: int) -> None:
    rng = Random(seed)
    found = random_snapshot(rng)
    demanded = {each for job in found.waiting for demand in demands(job) for each in demand.items()}
    scores = {each: rng.randint(1, 10) for each in sorted(demanded) if rng.random() < 0.7}
    scored = replace(found, spot_scores=scores, policy=replace(found.policy, min_spot_score=least))
    assert played(scored, rng)[0] is None


@pytest.mark.parametrize("score", [0, 11])
def test_a_least_score_is_from_1_to_10(score: int) -> None:
    with pytest.raises(InvalidPolicy, match="min_spot_score"):
        Policy(min_spot_score=score)
