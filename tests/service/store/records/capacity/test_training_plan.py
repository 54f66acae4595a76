"""The sizes that a training plan gives its pool."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.ports.training_plans import ReservedCapacity, TrainingPlan
from headway_service.store.records.capacity.training_plan import CLEARED_MS, STOP_LEAD_MS, PlanRecord

P5 = "ml.p5.48xlarge"
POOL = f"{P5}.plan.spring"
ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
HOUR_MS = 3_600_000
MARGIN_MS = CLEARED_MS + STOP_LEAD_MS


def capacity(start_h: int, end_h: int, count: int = 2, **more: Any) -> ReservedCapacity:
    times = {"start_ms": start_h * HOUR_MS, "end_ms": end_h * HOUR_MS}
    return ReservedCapacity(**{"instance_type": P5, "count": count, "status": "Scheduled", **times, **more})


def plan(*capacities: ReservedCapacity, **more: Any) -> TrainingPlan:
    given = {"arn": ARN, "status": "Active", "targets": ("training-job",), "end_ms": 33 * HOUR_MS, **more}
    return TrainingPlan(capacities=capacities, **given)


def sizes(told: TrainingPlan, most: int = 100, from_ms: int = 0) -> tuple[tuple[int, int], ...]:
    return PlanRecord.of(POOL, ARN, told).sizes(most, from_ms)


def test_a_block_ends_before_sagemaker_takes_its_instances() -> None:
    assert sizes(plan(capacity(1, 3))) == ((0, 0), (HOUR_MS, 2), (3 * HOUR_MS - MARGIN_MS, 0))


def test_blocks_without_a_gap_are_followed_each_for_itself() -> None:
    assert sizes(plan(capacity(0, 3), capacity(3, 6))) == (
        (0, 2),
        (3 * HOUR_MS - MARGIN_MS, 0),
        (3 * HOUR_MS, 2),
        (6 * HOUR_MS - MARGIN_MS, 0),
    )


def test_blocks_that_overlap_add_up() -> None:
    assert sizes(plan(capacity(0, 3), capacity(1, 6, count=3)))[:3] == (
        (0, 2),
        (HOUR_MS, 5),
        (3 * HOUR_MS - MARGIN_MS, 3),
    )


def test_a_block_shorter_than_the_margin_has_no_instances() -> None:
    assert sizes(plan(capacity(0, 3, end_ms=MARGIN_MS))) == ((0, 0),)


@pytest.mark.parametrize(
    "left_out",
    [
        {"status": "Pending"},
        {"status": "Failed"},
        {"start_ms": None},
        {"end_ms": None},
        {"instance_type": "ml.p4d.24xlarge"},
    ],
    ids=str,
)
def test_a_capacity_that_no_job_can_use_does_not_count(left_out: dict[str, Any]) -> None:
    assert sizes(plan(capacity(0, 9, **left_out), capacity(0, 9)))[0] == (0, 2)


@pytest.mark.parametrize(
    ("told", "clause"),
    [
        (plan(capacity(0, 9), status="Pending", message="soon"), "is Pending: soon"),
        (plan(capacity(0, 9), status="Failed"), "is Failed"),
        (plan(capacity(0, 9), status="Expired"), "ended at 1970-01-02 09:00 UTC"),
        (plan(capacity(0, 9), status="Expired", end_ms=None), "ended"),
        (plan(capacity(0, 9), targets=("endpoint",)), "is for endpoint, not for training jobs"),
        (plan(capacity(0, 9), targets=()), "is for no known resource, not for training jobs"),
        (plan(capacity(0, 9, ultra_server=True)), "has UltraServers, which the queue does not start jobs on"),
        (plan(capacity(0, 9, instance_type="ml.p4d.24xlarge")), "has only ml.p4d.24xlarge: name the pool after that"),
        (replace(plan(capacity(0, 9)), arn=ARN.replace("eu-west-1", "us-east-1")), "has the ARN arn:aws:sagemaker:us-"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_cannot_be_used_has_no_instances_and_says_why(told: TrainingPlan, clause: str) -> None:
    record = PlanRecord.of(POOL, ARN, told)
    assert record.sizes(100, 0) == ((0, 0),)
    assert record.clause.startswith(f"the training plan `spring` {clause}")


@pytest.mark.parametrize("status", ["Scheduled", "Active"])
def test_a_plan_that_can_be_used_reports_its_end(status: str) -> None:
    record = PlanRecord.of(POOL, ARN, plan(capacity(0, 9), status=status, unhealthy=1))
    assert record.clause == (
        "the training plan `spring` ends at 1970-01-02 09:00 UTC, and 1 of its instances are unhealthy"
    )
    assert not record.is_over


@pytest.mark.parametrize(
    ("since_h", "ended_ms", "took"),
    [
        (0, 3 * HOUR_MS - MARGIN_MS, True),
        (0, 3 * HOUR_MS - MARGIN_MS - 1, False),
        (3, 4 * HOUR_MS, False),
    ],
)
def test_an_attempt_may_have_lost_its_instances_from_the_end_of_its_block_on(
    since_h: int, ended_ms: int, took: bool
) -> None:
    record = PlanRecord.of(POOL, ARN, plan(capacity(0, 3), capacity(3, 9)))
    assert record.took_instances(since_h * HOUR_MS, ended_ms) is took


capacities = st.builds(
    lambda start, length, count: capacity(start, start + length, count),
    st.integers(0, 20),
    st.integers(1, 10),
    st.integers(1, 5),
)


@given(st.lists(capacities, max_size=5), st.integers(0, 6), st.integers(0, 8), st.integers(0, 40), st.integers(0, 40))
def test_at_any_time_the_pool_has_what_is_usable_then(
    found: list[ReservedCapacity], unhealthy: int, most: int, from_h: int, later_h: int
) -> None:
    told = sizes(plan(*found, unhealthy=unhealthy), most, from_h * HOUR_MS)
    time_ms = (from_h + later_h) * HOUR_MS
    usable = sum(
        each.count for each in found if (each.start_ms or 0) <= time_ms < (each.end_ms or 0) - CLEARED_MS - STOP_LEAD_MS
    )
    assert [size for at_ms, size in told if at_ms <= time_ms][-1] == max(0, min(most, usable - unhealthy))
    assert told[0][0] == from_h * HOUR_MS
    assert told[-1][1] == 0 or from_h == told[-1][0], "a plan ends"


def test_facts_that_change_no_size_and_no_clause_change_no_calendar() -> None:
    record = PlanRecord.of(POOL, ARN, plan(capacity(0, 9)))
    assert record.digest == record.model_copy(update={"version": 7, "missing_since_ms": 5}).digest
    assert record.digest != PlanRecord.of(POOL, ARN, plan(capacity(0, 9), unhealthy=1)).digest
