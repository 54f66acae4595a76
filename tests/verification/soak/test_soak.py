"""Dozens of random runs of a queue with injected faults; `make soak` makes thousands."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random
from typing import Any

import pytest

from headway.model import Allocation, Snapshot, WaitingJob
from headway.plan import Plan
from headway.policy import PREDICTED_ORDERS, Order, Policy
from headway.scheduling import preemption, standing
from headway.scheduling.equals.expected import extended as extended_by
from headway.scheduling.scheduler import schedule
from headway.scheduling.victims import protection
from headway_service.launching.executor import Executor
from headway_service.observability.logging import logger
from headway_service.scheduling import decide
from headway_verification.soak import __main__ as soak
from headway_verification.soak.call_log import keep
from headway_verification.soak.cooperative_scheduler import CooperativeScheduler, Process
from headway_verification.soak.ddmin import MAX_RUNS, shrink
from headway_verification.soak.faults.plan import Fault
from headway_verification.soak.faults.tempers import ADVERSE
from headway_verification.soak.random_run import Outcome, drawn_order, make_run
from headway_verification.soak.safeguards.removing import removed
from headway_verification.soak.trials import crash_points
from headway_verification.soak.trials.crash_points import (
    AFTER_EFFECT,
    BESIDE_EACH,
    Way,
    crash,
    crashes,
    interleave,
    undisturbed,
)
from headway_verification.soak.trials.interleavings import INTERLEAVINGS
from headway_verification.soak.trials.scenarios import SITUATIONS

SEEDS = 40
ORDER_SEEDS = (6, 11)
"""Of runs with another order among equals."""
PREEMPTING_SEEDS = {Order.SHORTEST_REMAINING: 15, Order.SHARED: 3}
"""Of runs in which jobs preempt equals."""
PREDICTED_SEED = 0
"""Of a run in which jobs preempt equals by predicted run times, and outlive these."""
WAITING_SEED = 54
"""Of a run in which preemptions wait for checkpoints."""
MOST_RUNS = 80
EVERY = 4
"""These tests try a quarter of the ways of each trial, or an eighth where these are many; `make trials` tries all."""
PROCESSES = 2


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def test_invariants_hold_under_random_faults() -> None:
    states: set[str] = set()
    faults: Counter[Fault] = Counter()
    with ProcessPoolExecutor(PROCESSES, initializer=soak.quiet) as pool:
        outcomes = list(pool.map(soak.quiet_run, range(SEEDS), chunksize=8))
    for seed, outcome in enumerate(outcomes):
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}"
        states |= outcome.states
        faults.update(kind for _, kind in outcome.faults.elements())
    # About one a run; a change of any step of a run changes all of its later ones.
    assert sum(outcome.refused_again for outcome in outcomes) > SEEDS // 2
    assert states == {"pending", "running", "stopping", "preempted", "completed", "failed", "stopped"}
    assert min(faults[kind] for kind in Fault if kind is not Fault.NONE) > 20
    keep("soak", (outcome.needed for outcome in outcomes))  # for `make iam-proof`


@pytest.mark.parametrize("order", [order for order in Order if order is not Order.FIFO])
def test_invariants_hold_with_each_order_among_equals(order: Order) -> None:
    for seed in ORDER_SEEDS:
        violation = soak.quiet_run(seed, order=order).violation
        assert violation is None, f"seed {seed}: {violation}"


def assert_in_a_run(likely: int, seen: Callable[[], bool], every: int = 1, **options: Any) -> None:
    """Check that something is seen in one of some runs, and that none of them breaks a promise.

    Args:
        likely: the seed to begin with. What the functions call decides in which runs it is seen.
        seen: whether it was.
        every: the distance of the seeds in whose runs it may be seen.
        options: see `soak.quiet_run`.
    """
    for seed in (likely, *(likely % every + every * number for number in range(MOST_RUNS))):
        assert soak.quiet_run(seed, **options).violation is None, seed
        if seen():
            return
    pytest.fail(f"not in {MOST_RUNS} runs")


@pytest.mark.parametrize("order", PREEMPTING_SEEDS)
def test_in_runs_with_an_order_that_preempts_jobs_preempt_equals(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    gave_way: list[bool] = []
    real = protection.yields_to_equal

    def yields(*given: Any) -> bool:
        gave_way.append(real(*given))
        return gave_way[-1]

    monkeypatch.setattr(preemption, "yields_to_equal", yields)
    assert_in_a_run(PREEMPTING_SEEDS[order], lambda: any(gave_way), order=order)


def test_in_some_runs_jobs_preempt_equals_by_predictions_and_outlive_these(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[bool] = []
    extended: list[bool] = []
    yields = protection.yields_to_equal

    def gives_way(allocation: Allocation, job: WaitingJob, at_ms: int, policy: Policy) -> bool:
        given = yields(allocation, job, at_ms, policy)
        expected.append(given and job.terms.standing.expected_ms is not None)
        return given

    def is_extended(expected_ms: int, extension_ms: int, left_ms: int, held_ms: int) -> tuple[int, int]:
        found = extended_by(expected_ms, extension_ms, left_ms, held_ms)
        extended.append(found[1] > extension_ms)
        return found

    monkeypatch.setattr(preemption, "yields_to_equal", gives_way)
    monkeypatch.setattr(standing, "extended", is_extended)
    assert_in_a_run(
        PREDICTED_SEED,
        lambda: any(expected) and any(extended),
        order=Order.SHORTEST_REMAINING,
        predicts=True,
    )


def test_the_runs_of_some_seeds_compare_predictions() -> None:
    drawn = [drawn_order(seed) for seed in range(8)]
    assert drawn.count((Order.FIFO, False)) == 6
    assert {order for order, predicts in drawn if predicts} == PREDICTED_ORDERS


def test_in_some_runs_preemptions_wait_for_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    delayed: list[str] = []
    real = schedule

    def watched(snapshot: Snapshot, *, explain: bool = True) -> Plan:
        plan = real(snapshot, explain=explain)
        delayed.extend(each.for_job for each in plan.delayed)
        return plan

    monkeypatch.setattr(decide, "schedule", watched)
    # The configuration lets preemptions wait in the runs of every fourth seed.
    assert_in_a_run(WAITING_SEED, lambda: bool(delayed), every=4)


def test_a_seed_reproduces_a_run() -> None:
    assert make_run(7).log == make_run(7).log
    assert make_run(7).log != make_run(8).log


def test_a_run_without_a_safeguard_violates_an_invariant_and_repeats_only_the_given_happenings() -> None:
    with removed("a launch without an answer stays an intent"):
        whole = next(run for run in map(soak.quiet_run, range(50)) if run.violation)
        assert soak.quiet_run(whole.seed, range(1, whole.happenings + 1)).log == whole.log
        nothing = soak.quiet_run(whole.seed, [])
        assert (nothing.violation, nothing.faults.total()) == (None, 0)
        assert not any(who == "people" for _, who, _ in nothing.log)


def test_a_tick_that_fails_breaks_a_promise_though_its_handler_only_logs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise TypeError("a fault")

    monkeypatch.setattr(Executor, "execute_left", fail)
    assert make_run(1).violation == "a tick failed: TypeError('a fault')"


def violates_with(needed: set[int], runs: list[Collection[int]]) -> Callable[[Collection[int]], Outcome]:
    """Return a run that violates an invariant if all needed happenings occur, and record each call."""

    def live(kept: Collection[int]) -> Outcome:
        runs.append(kept)
        return Outcome(seed=0, violation="broken" if needed <= set(kept) else None)

    return live


@pytest.mark.parametrize("needed", [{1}, {30}, {3, 17}, {1, 2, 3, 28, 29, 30}])
def test_shrinking_keeps_the_needed_happenings(needed: set[int]) -> None:
    runs: list[Collection[int]] = []
    shortest, kept = shrink(violates_with(needed, runs), Outcome(seed=0, violation="broken", happenings=30))
    assert (set(kept), shortest.violation) == (needed, "broken")
    assert len(runs) < MAX_RUNS


def test_shrinking_ends_if_every_happening_is_needed() -> None:
    runs: list[Collection[int]] = []
    everything = set(range(1, 1001))
    _, kept = shrink(violates_with(everything, runs), Outcome(seed=0, violation="broken", happenings=1000))
    assert set(kept) == everything
    assert len(runs) == MAX_RUNS


@pytest.mark.parametrize("name", SITUATIONS)
def test_invariants_hold_after_a_crash_at_any_call(name: str) -> None:
    trial = crash(name, every=EVERY)
    assert trial.calls > 2
    # Adverse behavior may change the number of calls to SageMaker, but there are some.
    adverse = len(AFTER_EFFECT) * len(ADVERSE) if trial.asks_sagemaker else 0
    assert trial.ways >= (len(BESIDE_EACH) * trial.calls + adverse) // EVERY
    assert trial.violations == {}


@pytest.mark.parametrize("name", INTERLEAVINGS)
def test_invariants_hold_with_other_actors_between_two_calls(name: str) -> None:
    # Two that are suspended meet in as many ways as the product of their calls.
    every = 2 * EVERY if INTERLEAVINGS[name].rival else EVERY
    trial = interleave(name, every=every)
    assert trial.calls > 2
    assert trial.ways >= (trial.calls + 1) // every
    assert trial.violations == {}


@pytest.mark.parametrize("name", ["jobs start", "a waiting job is stopped"])
def test_a_part_of_the_trials_still_has_a_fault_at_each_call_and_each_fault(name: str) -> None:
    ways = [way for way in crashes(undisturbed(name, SITUATIONS[name])) if not way.temper]
    for first in range(EVERY):
        part = ways[first::EVERY]
        assert {way.at for way in part} == {way.at for way in ways}
        assert {way.fault for way in part} == set(BESIDE_EACH)


def test_the_parts_of_a_trial_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "jobs start"
    tried: list[Way] = []
    monkeypatch.setattr(crash_points, "_try", lambda _, way: tried.append(way))
    for first in range(EVERY):
        monkeypatch.setattr(crash_points, "crc32", lambda _, first=first: first)
        crash(name, every=EVERY)
    assert Counter(tried) == Counter(crashes(undisturbed(name, SITUATIONS[name])))


def test_a_process_runs_until_it_pauses_and_a_killed_process_never_resumes() -> None:
    done: list[str] = []

    def work(name: str) -> None:
        done.append(f"{name} begins")
        by_name[name].pause()
        done.append(f"{name} ends")

    by_name = {name: Process(name, "api", 0, partial(work, name)) for name in "ab"}
    processes = CooperativeScheduler(Random(0))
    for process in by_name.values():
        processes.start(process)
    processes.step_of(by_name["a"], 0.0)
    processes.kill(by_name["a"])
    assert done == ["a begins"]
    while processes.live:
        processes.step(0.0)
    assert done == ["a begins", "b begins", "b ends"]


def test_the_command_prints_a_summary_and_the_log_of_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["--seeds", "4"]) == 0
    assert "4 runs (seeds 0 to 3)" in capsys.readouterr().out
    assert soak.main(["--seed", "3"]) == 0
    assert "seed 3: all invariants hold" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        soak.main(["--seeds", "0"])
