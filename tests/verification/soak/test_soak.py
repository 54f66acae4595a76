"""Dozens of lives of a queue in which everything goes wrong; `make soak` lives thousands."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random

import pytest

from headway_service.observability.logging import logger
from headway_service.scheduling.executor import Executor
from headway_verification.soak import __main__ as soak
from headway_verification.soak.call_log import keep
from headway_verification.soak.cooperative_scheduler import CooperativeScheduler, Process
from headway_verification.soak.crash_points import AFTER_EFFECT, BESIDE_EACH, crash, duel
from headway_verification.soak.ddmin import MAX_LIVES, shrink
from headway_verification.soak.faults import Fault
from headway_verification.soak.interleavings import DUELS
from headway_verification.soak.random_run import Outcome, live
from headway_verification.soak.removing import removed
from headway_verification.soak.scenarios import SITUATIONS
from headway_verification.soak.tempers import UNKIND

SEEDS = 30
PROCESSES = 2


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def test_whatever_happens_no_promise_is_broken() -> None:
    states: set[str] = set()
    accidents: Counter[Fault] = Counter()
    with ProcessPoolExecutor(PROCESSES, initializer=soak.quiet) as pool:
        outcomes = list(pool.map(soak.lived, range(SEEDS), chunksize=8))
    for seed, outcome in enumerate(outcomes):
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}"
        states |= outcome.states
        accidents.update(kind for _, kind in outcome.accidents.elements())
    assert states == {"pending", "running", "stopping", "preempted", "completed", "failed", "stopped"}
    assert min(accidents[kind] for kind in Fault if kind is not Fault.NONE) > 20
    keep("soak", (outcome.needed for outcome in outcomes))  # for `make iam-proof`


def test_a_seed_gives_the_same_life_again() -> None:
    assert live(7).log == live(7).log
    assert live(7).log != live(8).log


def test_without_a_safeguard_a_life_breaks_a_promise_and_only_what_is_named_happens_in_it_again() -> None:
    with removed("a launch without an answer stays an intent"):
        whole = next(life for life in map(soak.lived, range(50)) if life.violation)
        assert soak.lived(whole.seed, range(1, whole.happenings + 1)).log == whole.log
        nothing = soak.lived(whole.seed, [])
        assert (nothing.violation, nothing.accidents.total()) == (None, 0)
        assert not any(who == "people" for _, who, _ in nothing.log)


def test_a_tick_that_fails_breaks_a_promise_though_its_handler_only_logs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise TypeError("a fault")

    monkeypatch.setattr(Executor, "recover", fail)
    assert soak.lived(1).violation == "a tick failed: TypeError('a fault')"


def breaks_with(needed: set[int], lives: list[Collection[int]]) -> Callable[[Collection[int]], Outcome]:
    """Lives that break a promise if all that is needed happens, and a note of each."""

    def live(kept: Collection[int]) -> Outcome:
        lives.append(kept)
        return Outcome(seed=0, violation="broken" if needed <= set(kept) else None)

    return live


@pytest.mark.parametrize("needed", [{1}, {30}, {3, 17}, {1, 2, 3, 28, 29, 30}])
def test_shrinking_leaves_what_is_needed(needed: set[int]) -> None:
    lives: list[Collection[int]] = []
    shortest, kept = shrink(breaks_with(needed, lives), Outcome(seed=0, violation="broken", happenings=30))
    assert (set(kept), shortest.violation) == (needed, "broken")
    assert len(lives) < MAX_LIVES


def test_shrinking_comes_to_an_end_where_everything_is_needed() -> None:
    lives: list[Collection[int]] = []
    everything = set(range(1, 1001))
    _, kept = shrink(breaks_with(everything, lives), Outcome(seed=0, violation="broken", happenings=1000))
    assert set(kept) == everything
    assert len(lives) == MAX_LIVES


@pytest.mark.parametrize("name", SITUATIONS)
def test_after_a_crash_beside_any_call_all_ends_well(name: str) -> None:
    trial = crash(name)
    assert trial.calls > 2
    # With an unkind SageMaker there may be fewer or more calls to it, but there are some.
    unkind = len(AFTER_EFFECT) * len(UNKIND) if trial.asks_sagemaker else 0
    assert trial.ways >= len(BESIDE_EACH) * trial.calls + unkind
    assert trial.violations == {}


@pytest.mark.parametrize("name", DUELS)
def test_whoever_acts_between_two_calls_all_ends_well(name: str) -> None:
    trial = duel(name)
    assert trial.ways > trial.calls > 2
    assert trial.violations == {}


def test_one_of_several_goes_on_until_it_pauses_and_a_killed_one_never_does() -> None:
    done: list[str] = []

    def work(name: str) -> None:
        done.append(f"{name} begins")
        them[name].pause()
        done.append(f"{name} ends")

    them = {name: Process(name, "api", 0, partial(work, name)) for name in "ab"}
    processes = CooperativeScheduler(Random(0))
    for process in them.values():
        processes.start(process)
    them["a"].step()
    processes.kill(them["a"])
    assert done == ["a begins"]
    while processes.live:
        processes.step(0.0)
    assert done == ["a begins", "b begins", "b ends"]


def test_the_command_tells_what_it_did_and_shows_the_log_of_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["--seeds", "4"]) == 0
    assert "4 lives (seeds 0 to 3)" in capsys.readouterr().out
    assert soak.main(["--seed", "3"]) == 0
    assert "seed 3: all promises kept" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        soak.main(["--seeds", "0"])
