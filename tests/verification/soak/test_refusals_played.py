"""While SageMaker refuses a job for hours, nobody else suffers: each promise in a situation that once broke it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_service.observability.logging import logger
from headway_service.ports.table import Delete
from headway_service.store.records.job import request_key
from headway_verification.soak.calm_phase import STEP_S, became_calm, pass_calmly
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault, FaultPlan
from headway_verification.soak.faults.refusals import FOR_EVER_S, LastingRefusals
from headway_verification.soak.invariants.liveness.queue import Promise
from headway_verification.soak.random_run import drain

HOUR_S = 3600.0
POOLS = {P5: 4}
LONG_S = 12 * 3600


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def refusing(**limits: Any) -> LastingRefusals:
    """What SageMaker refuses for a day."""
    denials, wait_s = limits.pop("denials", {}), limits.pop("capacity_wait_s", 0.0)
    return LastingRefusals(
        begin_s=START_S, end_s=START_S + 24 * HOUR_S, limits=limits, denials=denials, capacity_wait_s=wait_s
    )


QUOTA = refusing(quotas={P5: 3})
CAPACITY = refusing(capacity={P5: 3}, capacity_wait_s=FOR_EVER_S)
DENIAL = refusing(denials={"big": {"name_prefix": "big"}})
REFUSALS: Mapping[str, tuple[LastingRefusals, int, int]] = {
    "a quota below the pool": (QUOTA, 4, 3),
    "a type with fewer instances than its pool": (CAPACITY, 4, 3),
    "a denial of one job": (DENIAL, 1, 4),
    "a denial of one job that demands the whole pool": (DENIAL, 4, 4),
}
"""What SageMaker refuses, what the job `big` demands then, and how many instances there are for others."""


def calm_queue(
    refusals: LastingRefusals | None, *checked: Promise, pools: Mapping[str, int] = POOLS, plan: FaultPlan | None = None
) -> Deployment:
    """A queue at which nothing goes wrong but what is refused, and of which these promises are checked."""
    queue = Deployment(Random(0), pools, plan or FaultPlan(Random(0)), refusals)
    queue.checks_liveness = True
    queue.liveness.checked = frozenset(checked)
    became_calm(queue, drain)
    return queue


def submit(queue: Deployment, name: str, count: int = 1, *, pool: str = P5, priority: int = 0, **more: Any) -> None:
    """Submit a job that trains for long, and let it start if it may."""
    terms = more.pop("terms", {})
    request = training_request(name, [(pool, count)], run_s=LONG_S, tags={"priority": str(priority)})
    queue.finish(queue.submit({**request, **more}, **terms))
    assert name in queue.accepted
    drain(queue)


def go_on(queue: Deployment, minutes: float, random: Random | None = None) -> None:
    """Let minutes pass, and check the promises."""
    for _ in range(int(minutes * 60 / STEP_S)):
        pass_calmly(queue, drain, random)


def state_of(queue: Deployment, name: str) -> str:
    (job,) = (each for each in queue.table.items() if each["sk"] == "job" and each["jobName"] == name)
    return str(job["jobState"])


def refuse_big(queue: Deployment, count: int) -> None:
    """Let the job with the highest rank be refused, and jobs wait behind it."""
    submit(queue, "big", count, priority=5)
    go_on(queue, 8)
    for number in range(4):
        submit(queue, f"small-{number}")


@pytest.mark.parametrize("name", REFUSALS)
def test_jobs_that_fit_start_although_the_first_is_refused_for_hours(name: str) -> None:
    refusals, count, usable = REFUSALS[name]
    queue = calm_queue(refusals, Promise.STARTS)
    refuse_big(queue, count)
    go_on(queue, 60)
    assert [state_of(queue, f"small-{number}") for number in range(usable)] == ["running"] * usable
    assert state_of(queue, "big") in {"pending", "running"}


@pytest.mark.parametrize("name", REFUSALS)
def test_next_to_no_instances_are_kept_for_a_job_that_is_refused_for_hours(name: str) -> None:
    refusals, count, _ = REFUSALS[name]
    queue = calm_queue(refusals, Promise.IDLE)
    refuse_big(queue, count)
    go_on(queue, 180)
    queue.liveness.end()


@pytest.mark.parametrize("name", REFUSALS)
def test_nobody_is_preempted_for_a_job_that_is_refused_for_hours(name: str) -> None:
    refusals, count, usable = REFUSALS[name]
    queue = calm_queue(refusals)
    submit(queue, "big", count, priority=5)
    go_on(queue, 30)
    submit(queue, "urgent", usable, priority=9)
    go_on(queue, 30)
    # Now it is outranked, while it trains.
    queue.finish(queue.ask("PATCH", "/jobs/urgent", {"priority": 0}))
    go_on(queue, 30)
    assert state_of(queue, "urgent") == "running"


@pytest.mark.parametrize("name", REFUSALS)
def test_nobody_is_told_to_wait_for_a_job_that_is_refused_for_hours(name: str) -> None:
    refusals, count, _ = REFUSALS[name]
    queue = calm_queue(refusals, Promise.TRUTH)
    refuse_big(queue, count)
    go_on(queue, 60, Random(0))


def test_each_tick_makes_a_decision_though_an_array_has_no_request() -> None:
    queue = calm_queue(None)
    terms = {"sweep": {"grid": {"seed": [0, 1]}}, "reuse": True, "reuseUnpinned": True}
    request = training_request("array", [(P5, 1)], run_s=LONG_S)
    queue.finish(queue.submit(request, **terms))
    queue.write_by_hand([Delete(key=request_key("array"))])
    queue.is_damaged = True
    go_on(queue, 10)
    submit(queue, "other")
    go_on(queue, 10)
    assert state_of(queue, "other") == "running"


@pytest.mark.parametrize("minutes", [4, 20, 60])
def test_pools_are_used_soon_after_an_outage(minutes: int) -> None:
    outage_s, plan = minutes * 60.0, FaultPlan(Random(0))
    queue = Deployment(Random(0), {P5: 4, G5: 4}, plan)

    def fault(operation: str) -> Fault:
        """SageMaker answers no launch."""
        is_lost = operation == "CreateTrainingJob" and queue.now_s < START_S + outage_s
        return Fault.RAW_BEFORE if is_lost else Fault.NONE

    plan.planned, plan.raw = fault, 0
    queue.checks_liveness = True
    queue.liveness.checked = frozenset()
    for number in range(8):
        submit(queue, f"p{number}")
        submit(queue, f"g{number}", pool=G5)
    while queue.now_s < START_S + outage_s:
        queue.pass_time(60)
        drain(queue)
    became_calm(queue, drain, outage_s)
    queue.liveness.checked = frozenset({Promise.BACK_OFFS, Promise.STARTS})
    go_on(queue, 30)
    states = [state_of(queue, f"{pool}{number}") for pool in "pg" for number in range(8)]
    assert states.count("running") == 8


def test_a_queue_that_nothing_is_refused_keeps_all_promises() -> None:
    queue = calm_queue(None, *Promise)
    for number in range(6):
        submit(queue, f"job-{number}", 1 + number % 2, priority=number % 3)
    go_on(queue, 90, Random(0))
    queue.liveness.end()
