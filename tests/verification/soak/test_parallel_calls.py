"""Calls in parallel in the simulation: threads of an invocation, of which one runs at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from random import Random

import pytest

from headway_service.observability.logging import logger
from headway_verification.soak.cooperative_scheduler import (
    CooperativeCalls,
    CooperativeScheduler,
    Killed,
    Process,
    current,
)
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault
from headway_verification.soak.trials.scenarios import SITUATIONS
from headway_verification.soak.trials.steps import POOLS


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def pause() -> None:
    process = current()
    assert process is not None
    process.pause()


def started(work: Callable[[], None], seed: int = 0) -> tuple[Process, CooperativeScheduler]:
    scheduler = CooperativeScheduler(Random(seed))
    process = Process("p", "schedule", 0, work)
    scheduler.start(process)
    return process, scheduler


def finish(scheduler: CooperativeScheduler) -> None:
    while scheduler.live:
        scheduler.step(0.0)


def call(log: list[str], name: str) -> Callable[[], None]:
    """A call that is suspended once."""

    def work() -> None:
        log.append(f"{name} begins")
        pause()
        log.append(f"{name} ends")

    return work


def test_calls_are_suspended_one_by_one_in_any_order_and_each_is_made_once() -> None:
    orders = set()
    for seed in range(20):
        log: list[str] = []

        def work(log: list[str] = log) -> None:
            with CooperativeCalls() as calls:
                outcomes = [calls.submit(call(log, name)) for name in "ab"]
                while not all(outcome.done() for outcome in outcomes):
                    calls.wait([outcome for outcome in outcomes if not outcome.done()])

        finish(started(work, seed)[1])
        assert sorted(log) == ["a begins", "a ends", "b begins", "b ends"]
        orders.add(tuple(log))
    assert len(orders) == 6, "all in which each begins before it ends"


def test_the_wait_ends_with_the_first_call_and_the_context_with_the_last() -> None:
    seen: list[list[bool]] = []

    def work() -> None:
        with CooperativeCalls() as calls:
            outcomes = [calls.submit(call([], name)) for name in "ab"]
            calls.wait(outcomes)
            seen.append([outcome.done() for outcome in outcomes])
        seen.append([outcome.done() for outcome in outcomes])

    _, scheduler = started(work)
    scheduler.choose_thread = lambda threads: threads[0]
    finish(scheduler)
    assert seen == [[True, False], [True, True]]


def test_an_error_of_a_call_is_its_outcome() -> None:
    outcomes: list[Future[None]] = []

    def fail() -> None:
        pause()
        raise LookupError("x")

    def work() -> None:
        with CooperativeCalls() as calls:
            outcomes.append(calls.submit(fail))

    process, scheduler = started(work)
    finish(scheduler)
    assert process.error is None
    assert isinstance(outcomes[0].exception(), LookupError)


@pytest.mark.parametrize("where", ["in a call", "in the invocation"])
def test_a_crash_in_one_thread_ends_them_all_at_once(where: str) -> None:
    log: list[str] = []

    def crash() -> None:
        pause()
        raise Killed

    def work() -> None:
        with CooperativeCalls() as calls:
            outcomes = [calls.submit(call(log, "a")), calls.submit(crash if where == "in a call" else call(log, "b"))]
            if where == "in the invocation":
                crash()
            calls.wait(outcomes)
        log.append("the invocation goes on")

    process, scheduler = started(work)
    scheduler.choose_thread = lambda threads: threads[-1] if where == "in a call" else threads[0]
    finish(scheduler)
    assert (process.killed, process.ended) == (True, True)
    assert not [each for each in log if "ends" in each or "goes on" in each]


def test_a_thread_that_sleeps_lets_the_others_run() -> None:
    log: list[str] = []

    def sleeps() -> None:
        process = current()
        assert process is not None
        process.sleep(10.0)
        log.append("awake")

    def work() -> None:
        with CooperativeCalls() as calls:
            calls.submit(sleeps)
            calls.submit(call(log, "b"))

    process, scheduler = started(work)
    while scheduler.awake(0.0):
        scheduler.step(0.0)
    assert (log, process.sleep_until_s) == (["b begins", "b ends"], 10.0)
    scheduler.step(10.0)
    finish(scheduler)
    assert log[-1] == "awake"


def created_after_crashes(name: str) -> set[frozenset[str]]:
    """The training jobs that SageMaker has after a crash at each call of a situation."""
    found: set[frozenset[str]] = set()
    for at in range(100):
        queue = Deployment(Random(0), POOLS)
        try:
            SITUATIONS[name].prepare(queue)
            calls = iter(range(100))
            queue.faults.planned = lambda _, at=at, calls=calls: Fault.CRASH_BEFORE if next(calls) == at else Fault.NONE
            process = SITUATIONS[name].begin(queue)
            queue.finish(process)
            intents = [line for _, who, line in queue.log if who == "schedule" and "=attempt#" in line]
            if not process.killed:
                return found
            if len(intents) >= 3:
                found.add(frozenset(job.name for job in queue.fleet.jobs(now=queue.now_s)))
        finally:
            queue.processes.kill_all()
    raise AssertionError("the invocation does not end")


def test_a_crash_with_three_launches_in_flight_leaves_each_subset_of_them_launched() -> None:
    found: set[frozenset[str]] = set()
    for first in (1, 2, 3):
        found |= created_after_crashes(f"three launches are in flight, and answered from number {first} on")
    names = frozenset("abc")
    assert found == {frozenset(), names, *(frozenset(name) for name in names), *(names - {name} for name in names)}
